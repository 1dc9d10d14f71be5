"""A workflow of 60 steps whose processes tell in a ledger, outside of any run, what they do.

A line of the ledger is `<word> <path> <pid>`: `start`, `end`, `fail` where a step fails by plan,
and `double` where the same step was under way already. Each line is one write of O_APPEND.
"""

from __future__ import annotations

import typing as t
from collections.abc import Iterator

from couler.ir.policies import Retry
from couler.ir.values import Text
from couler.ir.workflow import ExitHandler, Step, Workflow
from tests.corpus.build import (
    compare,
    flow,
    given,
    group,
    item,
    last,
    out,
    param,
    py,
    ref,
    sh,
    text,
    while_,
)

LEDGER, LOCKS = "FAULTS_LEDGER", "FAULTS_LOCKS"
"""Variables of the environment: a file, and a folder."""

REPEATED = "again"
"""The group that is tried twice: what is inside may run again after a failure in it."""

_BEFORE = f"""
me=$1; lock="${LOCKS}/$2"; shift 2
say() {{ printf '%s %s %s\\n' "$1" "$me" "$$" >> "${LEDGER}"; }}
first() {{ [ "$(grep -cF "start $me " "${LEDGER}")" -lt 2 ]; }}
exec 9>> "$lock"
flock -n 9 || say double
say start
"""
_AFTER = "\nsay end\n"

_PYTHON = """
import os
def say(word):
    line = f"{word} ME {os.getpid()}\\n".encode()
    ledger = os.open(os.environ["FAULTS_LEDGER"], os.O_WRONLY | os.O_APPEND)
    os.write(ledger, line)
    os.close(ledger)
"""

FAILS_FIRST = "if first; then say fail; exit 1; fi; "


def path_of(told: str) -> str:
    """Return the path of a step from what it tells of itself."""
    name, plus, number = told.partition("+")
    return f"{name}[{int(number) - 3}]" if plus else told


def job(name: str, body: str, *args: Text, at: t.Any = None, **fields: t.Any) -> Step:
    """Return a step that tells of itself; `at` is its path where that is not its name.

    In `body` the arguments are `$1`, `$2`, ...
    """
    path: t.Any = name if at is None else at
    lock = path.replace("/", ".") if isinstance(path, str) else _lock_of(path)
    return sh(name, f"{_BEFORE}{body}{_AFTER}", path, lock, *args, **fields)


def _lock_of(path: t.Any) -> t.Any:
    """The parts of a template with dots for slashes."""
    return text(*(p.replace("/", ".") if isinstance(p, str) else p for p in path.parts))


def _script(name: str, body: str, **fields: t.Any) -> Step:
    source = f"{_PYTHON.replace('ME', name)}\nsay('start')\n{body}\nsay('end')\n"
    return py(name, source, **fields)


TWICE = Retry(limit=2)


def fault_workflow(*, nap_s: float = 0.02) -> Workflow:
    """Return the workflow; its 60 steps make about 90 processes.

    Parameters
    ----------
    nap_s
        Seconds that a step sleeps.
    """
    return flow(
        "faults",
        *_steps(f"sleep {nap_s}; "),
        outputs=[
            out("chain", source=ref("chain-9")),
            out("squares", "list", source=ref("squares")),
            out("counted", source=ref("loop")),
            out("report", "file", source=ref("report", "text")),
            out("copies", "list", source=ref("copies", "copy")),
            out("tree", "directory", source=ref("tree", "folder")),
            out("again", source=ref("again", "sum")),
            out("nested", "list", source=ref("nested", "value")),
            out("deep", source=ref("outer", "value")),
            out("total", "int", source=ref("total")),
        ],
        exit_handlers=[
            ExitHandler(
                name="good",
                on="success",
                steps=(
                    job("tell", "echo ok; ", at="exit:good/tell"),
                    job("then", f"sleep {nap_s}; ", at="exit:good/then", depends_on=["tell"]),
                ),
            ),
            ExitHandler(
                name="bad", on="failure", steps=(job("tell", "echo bad; ", at="exit:bad/tell"),)
            ),
        ],
    )


def _steps(nap: str) -> Iterator[Step]:
    yield job("seed", f"{nap}echo '[3, 4, 5, 6, 7]'; ", result="json")
    yield job("chain-0", f"{nap}echo 0; ")
    for number in range(1, 10):
        body = f'{nap}echo "$1.{number}"; '
        yield job(f"chain-{number}", body, ref(f"chain-{number - 1}"))
    for number in range(6):
        body = f"{nap}{FAILS_FIRST}echo {number}; "
        yield job(f"flaky-{number}", body, retry=TWICE, depends_on=["seed"])
    for number in range(5):
        body = f"{nap}seq {number + 3} > made; "
        yield job(f"make-{number}", body, result=None, outputs=[out("made", "file", "made")])
        yield job(
            f"use-{number}",
            f'{nap}wc -l < "$COULER_INPUT_made"; ',
            result="int",
            inputs=[given("made", ref(f"make-{number}", "made"), "file")],
            retry=TWICE,
        )
    yield job(
        "tree",
        f"{nap}mkdir -p d/e; echo 1 > d/a; echo 2 > d/e/b; ",
        result=None,
        outputs=[out("folder", "directory", "d")],
    )
    yield job(
        "read-tree",
        f'{nap}cat "$COULER_INPUT_folder"/a "$COULER_INPUT_folder"/e/b; ',
        inputs=[given("folder", ref("tree", "folder"), "directory")],
    )
    yield from _maps(nap)
    yield from _groups(nap)
    yield job(
        "loop",
        f"{nap}echo $(($1 + 1)); ",
        last(initial=0),
        at=text("loop@", last(initial=0)),
        result="int",
        loop=while_(compare(last(), "<", 5)),
    )
    yield job("if-so", f"{nap}echo yes; ", when=compare(ref("loop"), "==", 5))
    yield job("if-not", f"{nap}echo no; ", when=compare(ref("loop"), "==", 4))
    yield from _hard_to_end(nap)
    for number in range(2):
        yield _script(f"script-{number}", f"print({number} + 1)", result="int")
    uses = [ref(f"use-{number}") for number in range(5)]
    yield job(
        "total",
        f"{nap}echo $(($1 + $2 + $3 + $4 + $5 + $6)); ",
        *uses,
        ref("script-1"),
        result="int",
    )
    yield job(
        "report",
        f'{nap}printf "%s\\n" "$@" > text; ',
        ref("total"),
        ref("squares"),
        ref("read-tree"),
        ref("chain-9"),
        ref("flaky-5"),
        result=None,
        outputs=[out("text", "file", "text")],
        retry=TWICE,
    )


def _maps(nap: str) -> Iterator[Step]:
    yield job(
        "squares",
        f"{nap}echo $(($1 * $1)); ",
        item(),
        at=text("squares[", item(), "]"),
        result="int",
        foreach=[0, 1, 2, 3, 4],
    )
    # Known only when the workflow runs. A position is three less than its item: see `path_of`.
    yield job(
        "times",
        f"{nap}echo $(($1 * 2)); ",
        item(),
        at=text("times+", item()),
        result="int",
        foreach=ref("seed"),
    )
    yield job(
        "shaky",
        f"{nap}{FAILS_FIRST}echo $1; ",
        item(),
        at=text("shaky[", item(), "]"),
        foreach=[0, 1, 2],
        retry=TWICE,
    )
    yield job(
        "copies",
        f"{nap}echo $1 > copy; ",
        item(),
        at=text("copies[", item(), "]"),
        result=None,
        outputs=[out("copy", "file", "copy")],
        foreach=[0, 1, 2, 3],
    )
    yield job("gather", f'{nap}echo "$1 $2"; ', ref("times"), ref("shaky"))
    yield job("last", f'{nap}echo "$1"; ', ref("gather"))


def _groups(nap: str) -> Iterator[Step]:
    yield group(
        REPEATED,
        job("a", f"{nap}echo 1; ", at="again/a", result="int"),
        job("b", f"{nap}{FAILS_FIRST}echo 2; ", at="again/b", result="int"),
        job("c", f"{nap}echo $(($1 + $2)); ", ref("a"), ref("b"), at="again/c", result="int"),
        outputs=[out("sum", source=ref("c"))],
        retry=TWICE,
    )
    yield group(
        "nested",
        job("a", f"{nap}echo $1; ", param("n"), at=text("nested[", param("n"), "]/a")),
        job("b", f"{nap}echo $1$1; ", ref("a"), param("n"), at=text("nested[", param("n"), "]/b")),
        inputs=[given("n", item())],
        outputs=[out("value", source=ref("b"))],
        foreach=[0, 1],
    )
    inner = group(
        "inner",
        job("a", f"{nap}echo $1; ", param("seed"), at="outer/inner/a"),
        inputs=[given("seed", param("seed"))],
        outputs=[out("value", source=ref("a"))],
    )
    yield group(
        "outer",
        inner,
        job("b", f"{nap}echo $1; ", ref("inner", "value"), at="outer/b"),
        inputs=[given("seed", ref("seed"))],
        outputs=[out("value", source=ref("b"))],
    )


def _hard_to_end(nap: str) -> Iterator[Step]:
    yield job("background", f"sleep 300 & {nap}", result=None)
    yield job("deaf", f"trap '' TERM; {nap}", result=None)
    yield job("away", f"setsid sleep 300 9>&- & {nap}", result=None)
    yield job("no-environment", "say end; exec env -i sleep 0.1; ", result=None)
