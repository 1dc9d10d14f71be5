"""Lists without items, groups that did not run, ends of loops: Airflow does as this machine."""

from __future__ import annotations

from pathlib import Path

import pytest

from couler.ir.workflow import ExitHandler, Step, Workflow
from tests.corpus.build import (
    compare,
    first_of,
    flow,
    given,
    group,
    item,
    last,
    on_completion,
    on_failure,
    or_else,
    out,
    param,
    part,
    ref,
    sh,
    while_,
)
from tests.support.airflow_compare import assert_same_outcome
from tests.support.airflow_runs import Worker

pytestmark = [pytest.mark.airflow, pytest.mark.timeout(1800), pytest.mark.sampled(3)]

NEVER = compare("a", "==", "b")
AGAIN = while_(compare(last(), "<", 2), 3)

EMPTY = (
    flow(
        "empty-known-list-skipped",
        sh("bad", "exit 1"),
        sh("each", "echo $1", item(), foreach=[], when=NEVER),
        sh("say", "echo $1", or_else(ref("each"), [9])),
        sh(
            "mute",
            "echo $1",
            item(),
            result=None,
            foreach=[],
            when=NEVER,
            depends_on=[on_completion("bad")],
        ),
        sh("last", "true", depends_on=["mute"]),
    ),
    flow(
        "empty-group",
        group(
            "each",
            sh("some", "echo '[1]'", result="list"),
            sh("inner", "echo $1", item(), foreach=ref("some")),
            inputs=[given("n", item(), "json")],
            outputs=[out("o", "list", source=ref("inner"))],
            foreach=[],
        ),
        sh("say", "echo $1", ref("each", "o")),
        sh(
            "count",
            "echo $(($1 + 1))",
            last(initial=0),
            result="int",
            loop=while_(compare(last(), "<", 2), 2),
            foreach=[],
            depends_on=["each"],
        ),
        sh("end", "echo $1", or_else(ref("count"), [9]), depends_on=[on_completion("count")]),
    ),
    flow(
        "empty-in-mapped",
        sh("list", "echo '[1, 2]'", result="list"),
        group(
            "each",
            sh("bad", "test $1 = 1", param("n")),
            sh("none", "echo $1", item(), foreach=[], depends_on=["bad"]),
            sh(
                "mute",
                "echo $1",
                item(),
                result=None,
                foreach=[],
                when=compare(param("n"), "==", 2),
            ),
            sh(
                "end",
                "echo $1",
                or_else(ref("none"), [9]),
                depends_on=[on_completion("none"), "mute"],
            ),
            inputs=[given("n", item(), "int")],
            outputs=[out("o", source=ref("end"))],
            foreach=ref("list"),
        ),
        sh("tell", "echo $1", or_else(ref("each", "o"), [8]), depends_on=[on_completion("each")]),
    ),
    flow(
        "empty-after-handled-failure",
        group(
            "a",
            sh("a", "exit 1"),
            sh("b", "echo $1", item(), result=None, foreach=[], depends_on=[on_failure("a")]),
            sh("c", "true", depends_on=[on_failure("b")]),
        ),
        sh("d", "true", depends_on=["a"]),
    ),
)


def gives(name: str, **fields: object) -> Step:
    """A group with an output that is no step's."""
    return group(name, sh("one", "echo 1"), outputs=[out("x", source="always")], **fields)


GROUPS = (
    flow(
        "outputs-of-skipped-group",
        gives("never", when=NEVER),
        sh("a", "echo $1", or_else(ref("never", "x"), "none")),
        group(
            "deep",
            group(
                "in",
                sh("two", "echo 2", result=None, outputs=[out("result", default="3")]),
                outputs=[out("x", source=ref("two"))],
            ),
            outputs=[out("x", source=ref("in", "x"))],
            when=NEVER,
        ),
        sh("b", "echo $1", or_else(ref("deep", "x"), "none")),
        group(
            "own",
            sh("two", "echo 2"),
            outputs=[out("x", source=first_of(ref("two"), "4"), default="5")],
            when=NEVER,
        ),
        sh("c", "echo $1", ref("own", "x")),
        group(
            "inputs",
            sh("two", "echo 2"),
            inputs=[given("p", "q")],
            outputs=[out("x", source=param("p"))],
            when=NEVER,
        ),
        sh("d", "echo $1", or_else(ref("inputs", "x"), "none")),
    ),
    flow(
        "outputs-of-omitted-group",
        sh("bad", "exit 1"),
        gives("after", depends_on=["bad"]),
        sh("a", "echo $1", or_else(ref("after", "x"), "none"), depends_on=[on_completion("after")]),
        exit_handlers=[
            ExitHandler(
                name="h", on="any", steps=(sh("t", "echo $1", or_else(ref("after", "x"), "none")),)
            )
        ],
    ),
    flow(
        "outputs-of-group-of-skipped-steps",
        group(
            "g",
            sh("one", "echo 1", when=NEVER),
            outputs=[out("x", source=or_else(ref("one"), "mine"))],
        ),
        sh("a", "echo $1", or_else(ref("g", "x"), "none")),
        sh("list", "echo '[1, 2]'", result="list"),
        group(
            "each",
            gives("some", when=compare(param("n"), "==", 1)),
            sh("tell", "echo $1", or_else(ref("some", "x"), "none")),
            inputs=[given("n", item(), "int")],
            outputs=[out("said", source=ref("tell"))],
            foreach=ref("list"),
        ),
        sh("all", "echo $1", ref("each", "said")),
    ),
)

NO_PART = {"when": compare(part(ref("l"), "k"), "==", 1)}

CONDITIONS = (
    flow(
        "conditions-of-items-that-fail",
        sh("l", "echo '{}'"),
        sh("each", "echo $1", item(), foreach=["{{ a }}", "b"], **NO_PART),
        sh("a", "echo $1", or_else(ref("each"), "none"), depends_on=[on_completion("each")]),
        sh("b", "true", depends_on=[on_failure("each")]),
        group(
            "groups",
            sh("x", "echo $1", param("n")),
            inputs=[given("n", item(), "int")],
            outputs=[out("o", "str", source=ref("x"))],
            foreach=[1, 2],
            **NO_PART,
        ),
        sh(
            "c",
            "echo $1",
            or_else(ref("groups", "o"), "none"),
            depends_on=[on_completion("groups")],
        ),
        sh("d", "true", depends_on=[on_failure("groups")]),
        sh("loops", "echo 3", foreach=[1, 2], loop=AGAIN, result="int", **NO_PART),
        sh("e", "echo $1", or_else(ref("loops"), "none"), depends_on=[on_completion("loops")]),
        exit_handlers=[
            ExitHandler(
                name="h", on="any", steps=(sh("x", "echo $1", or_else(ref("each"), "none")),)
            )
        ],
    ),
    flow(
        "conditions-of-items",
        sh("l", "echo '{\"k\": 1}'"),
        sh("each", "echo $1", item(), foreach=["{{ a }}", "b"], **NO_PART),
        sh("a", "echo $1", or_else(ref("each"), "none")),
        sh("never", "echo $1", item(), foreach=["a", "b"], when=NEVER),
        sh("b", "echo $1", or_else(ref("never"), "none")),
        group(
            "deep",
            sh("each", "echo $1", item(), foreach=["a", "b"], when=compare(param("n"), "==", 1)),
            sh("a", "echo $1", or_else(ref("each"), "none")),
            inputs=[given("n", item(), "int")],
            foreach=[1, 2],
        ),
    ),
)

TEXTS = (
    flow(
        "json-that-is-text",
        group(
            "g",
            sh("say", "echo $1 $2 $3", param("p"), or_else(param("p"), [2]), param("q")),
            inputs=[given("p", "y", "json"), given("q", [2], "json")],
        ),
    ),
)

LOOPS = (
    flow(
        "condition-before-arguments-of-round",
        sh("start", "true"),
        sh(
            "loop",
            'test "$1" = 2 && echo done || echo "{\\"k\\": 2}"',
            part(last(initial='{"k": 1}'), "k"),
            loop=while_(compare(last(), "!=", "done"), 4),
            depends_on=["start"],
        ),
        sh("say", "echo $1", ref("loop")),
        sh("list", "echo '[1, 2]'", result="list"),
        sh(
            "loops",
            'test "$1" = 2 && echo done || echo "{\\"k\\": 2}"',
            part(last(initial='{"k": 1}'), "k"),
            foreach=ref("list"),
            loop=while_(compare(last(), "!=", "done"), 3),
        ),
        sh("tell", "echo $1", ref("loops")),
        group(
            "grow",
            sh("step", 'test "$1" = 2 && echo done || echo "{\\"k\\": 2}"', part(param("w"), "k")),
            inputs=[given("w", last("x", initial='{"k": 1}'))],
            outputs=[out("x", source=ref("step"))],
            loop=while_(compare(last("x"), "!=", "done"), 3),
        ),
    ),
    flow(
        "loop-in-group-after-loop",
        sh("count", "echo $(($1 + 1))", last(initial=0), result="int", loop=AGAIN),
        group(
            "work",
            sh("count", "echo $(($1 + 1))", last(initial=0), result="int", loop=AGAIN),
            group(
                "deep",
                group(
                    "rounds",
                    sh("add", "echo $(($1 + 1))", param("n"), result="int"),
                    inputs=[given("n", last("x", initial=0), "int")],
                    outputs=[out("x", "int", source=ref("add"))],
                    loop=while_(compare(last("x"), "<", 2), 3),
                ),
            ),
            depends_on=["count"],
        ),
        sh("after", "true", depends_on=["work"]),
    ),
    flow(
        "condition-of-loop-that-fails",
        sh("count", "echo no", last(initial=0), loop=while_(compare(last(), "<", 3), 3)),
        sh("after", "echo $1", or_else(ref("count"), 9), depends_on=[on_completion("count")]),
    ),
)


@pytest.mark.parametrize(
    "workflow", [*EMPTY, *GROUPS, *LOOPS, *CONDITIONS, *TEXTS], ids=lambda one: one.name
)
def test_outcome(workflow: Workflow, airflow: Worker, tmp_path: Path) -> None:
    assert_same_outcome(workflow, airflow, None, tmp_path)
