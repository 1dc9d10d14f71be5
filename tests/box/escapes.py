"""All hostile programs, and running them: ``python -m tests.box.escapes`` prints what stops each.

At the gate nothing of a program runs. In the box each is run as if it had passed the gate.
"""

from __future__ import annotations

import contextlib
import json
import os
import socket
import sys
import tempfile
import typing as t
from collections.abc import Iterator, Sequence
from pathlib import Path

from couler.box import Built, Limits, check_program
from couler.box.build import build_ungated
from tests.box.hostile import LANGUAGE, Escape
from tests.box.hostile_bounds import BOUNDS
from tests.box.hostile_files import FILES
from tests.box.hostile_forgeries import FORGERIES
from tests.box.hostile_imports import IMPORTS
from tests.box.hostile_system import NETWORK, PROCESSES

ESCAPES = [*LANGUAGE, *IMPORTS, *FILES, *NETWORK, *PROCESSES, *BOUNDS, *FORGERIES]

CANARY = "COULER_TEST_CANARY"
SECRETS = ("canary-in-the-environment", "canary in a file", "canary in a pipe")
"""What lies outside, and must not come out of the box."""

LONG = Limits(wall_s=60.0)
SHORT = Limits(wall_s=60.0, cpu_s=1.0)
"""The same walls with less processor time; the clock is generous, for machines that are busy."""


class Outside(t.NamedTuple):
    """What lies outside of the box, and must not be reached."""

    folder: Path
    server: socket.socket
    local: socket.socket
    abstract: socket.socket
    pipe: int

    def fill(self, program: str) -> str:
        """Return a program that knows where everything is."""
        known = {
            "canary": self.folder / "canary",
            "folder": self.folder,
            "port": self.server.getsockname()[1],
            "socket": self.local.getsockname(),
            "name": self.abstract.getsockname()[1:].decode(),
            "pid": os.getpid(),
            "fd": self.pipe,
        }
        for name, value in known.items():
            program = program.replace(f"@{name}@", str(value))
        return program

    def assert_untouched(self) -> None:
        """Look whether anything was reached."""
        assert sorted(os.listdir(self.folder)) == ["canary", "socket"]
        for listening in (self.server, self.local, self.abstract):
            with contextlib.suppress(BlockingIOError):
                listening.accept()
                raise AssertionError(f"somebody has connected to {listening.getsockname()!r}")


@contextlib.contextmanager
def outside() -> Iterator[Outside]:
    """Put things beside the box that hostile programs look for."""
    with contextlib.ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        (folder / "canary").write_text(SECRETS[1])
        kinds = (socket.AF_INET, socket.AF_UNIX, socket.AF_UNIX)
        places: tuple[t.Any, ...] = (
            ("127.0.0.1", 0),
            str(folder / "socket"),
            f"\0couler-{os.getpid()}-{id(folder)}",
        )
        listening = []
        for kind, place in zip(kinds, places, strict=True):
            one = stack.enter_context(socket.socket(kind, socket.SOCK_STREAM))
            one.bind(place)
            one.listen()
            one.setblocking(False)
            listening.append(one)
        read, write = os.pipe()
        for end in (read, write):
            os.set_inheritable(end, True)
            stack.callback(os.close, end)
        os.write(write, SECRETS[2].encode())
        before = os.environ.get(CANARY)
        os.environ[CANARY] = SECRETS[0]
        stack.callback(
            lambda: (
                os.environ.pop(CANARY) if before is None else os.environ.update({CANARY: before})
            )
        )
        yield Outside(folder, *listening, read)


def at_the_gate(escape: Escape, around: Outside) -> list[str]:
    """Return the codes of the gate."""
    return sorted({one.code for one in check_program(around.fill(escape.program))})


def in_the_box(escape: Escape, around: Outside) -> Built:
    """Run a program in a box of its own, whatever the gate says."""
    limits = Limits(wall_s=3.0) if escape.waits else SHORT if escape.box == "CLR620" else LONG
    return build_ungated(around.fill(escape.program), limits=limits)


def told(built: Built) -> str:
    """Return what was reported of a program, or `data` if nothing was."""
    return "\n".join(map(str, built.diagnostics)) or "data"


_TOGETHER = """\
import json
told = []
for text in json.loads({texts!r}):
    try:
        exec(compile(text, __file__, "exec"), {{"__name__": "__main__", "__file__": __file__,
             "__builtins__": __builtins__}})
        told.append("nothing stopped it")
    except BaseException as error:
        told.append(f"{{type(error).__name__}}: {{error}}")
print(json.dumps(told))
"""


def together(escapes: Sequence[Escape], around: Outside) -> list[str]:
    """Run programs that only raise in one box, one after another; return what stopped each."""
    texts = json.dumps([around.fill(one.program) for one in escapes])
    built = build_ungated(_TOGETHER.format(texts=texts))
    found: list[str] = json.loads(built.output.strip().splitlines()[-1])
    return found


def main() -> None:
    """Print a table: what stops each program at the gate, and what in the box."""
    rows = [("escape", "at the gate", "in the box, without the gate")]
    held = 0
    with outside() as around:
        for escape in ESCAPES:
            codes = at_the_gate(escape, around)
            gate = ", ".join(codes) or "passes"
            built = in_the_box(escape, around)
            report = told(built)
            around.assert_untouched()
            is_held = escape.box in report and "ESCAPED" not in built.output
            held += is_held and (escape.gate in codes or (escape.gate is None and not codes))
            rows.append((escape.name, gate, _short(report) if is_held else f"NOT HELD: {report}"))
    widths = [max(len(row[place]) for row in rows) for place in (0, 1)]
    for name, gate, box in rows:
        sys.stdout.write(f"{name:{widths[0]}}  {gate:{widths[1]}}  {box}\n")
    sys.stdout.write(f"\n{held} of {len(ESCAPES)} are contained by both layers\n")
    sys.exit(0 if held == len(ESCAPES) else 1)


def _short(report: str) -> str:
    if report == "data":
        return "a workflow like any other: it is verified, and shown for review"
    first = next(line for line in report.splitlines() if "CLR" in line)
    first = first[first.index("CLR") :]
    words = first.split(". A program is built", 1)[0].replace(" error  ", " ")
    return words if len(words) <= 90 else words[:90] + " ..."


if __name__ == "__main__":
    main()
