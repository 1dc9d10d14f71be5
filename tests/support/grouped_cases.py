"""Workflows in which steps that can share a pod have a condition, or read lists of a foreach."""

from __future__ import annotations

import typing as t
from functools import cache

from couler.ir.defaults import resolve_defaults
from couler.ir.grouped import GROUPED
from couler.ir.policies import Retry
from couler.ir.rewrite import map_scopes
from couler.ir.walk import all_steps
from couler.ir.workflow import Container, DataType, FunctionCall, NamedType, Script, Step, Workflow
from couler.optimizers.passes.group import Group
from couler.optimizers.pipeline import PassLog, Pipeline
from tests.corpus import Case, Expected, cases
from tests.corpus.build import (
    PYTHON_IMAGE,
    both,
    compare,
    first_of,
    flow,
    given,
    group,
    item,
    or_else,
    out,
    param,
    parameter,
    py,
    ref,
    sh,
)

__all__ = ["CASES", "Grouped", "grouped_in_python"]


def typed(name: str, foreach: dict[str, list[int]]) -> Step:
    """Return a step that a typed function of Python makes, as the IR knows it."""
    source = "def made() -> int:\n    return 7\n"
    made = py(name, source, None, foreach=foreach, outputs=[out("n", "int", "outputs/n")])
    assert isinstance(made.action, Script)
    call = FunctionCall(outputs=(NamedType(name="n", type=DataType(kind="int")),))
    action = made.action.model_copy(update={"function": "made", "call": call})
    return made.model_copy(update={"action": action})


def _case(name: str, steps: list[Step], expected: Expected, **fields: object) -> Case:
    workflow: Workflow = flow(name, *steps, **fields)
    return Case(name, workflow, expected, {}, {}, {}, {})


def _files(name: str, items: object, expected: Expected, ends: str = "true") -> Case:
    files = ref("write", "f")
    return _case(
        name,
        [
            sh(
                "write",
                f'echo "$1" > "$COULER_WORK/f"; {ends}',
                item(),
                foreach=items,
                outputs=[out("f", "file", "f")],
            ),
            sh(
                "count",
                'cd "$COULER_INPUT_files" && ls | wc -l | tr -d " "; rm -f 0',
                inputs=[given("files", files, "file", "files", many=True)],
            ),
            sh(
                "show",
                'cd "$COULER_INPUT_all" && echo $COULER_INPUT_n && cat $(ls)  < /dev/null',
                inputs=[given("all", files, "file", many=True), given("n", ref("count"))],
            ),
            sh("after", 'echo "$1"', ref("show")),
        ],
        expected,
    )


IS_LARGE = compare(ref("size"), ">", 10)


def _conditions(name: str, size: str, expected: Expected) -> Case:
    """Return a row under one condition, read by a step that need not stand under it."""
    return _case(
        name,
        [
            sh("size", f"echo {size}"),
            sh("a", "echo a", when=IS_LARGE, outputs=[out("kept", path="kept", default="none")]),
            sh("b", 'echo "$1b"', ref("a"), when=IS_LARGE, retry=Retry(limit=1)),
            sh("c", 'echo "$1c"', or_else(ref("b"), "?"), when=IS_LARGE, depends_on=["a"]),
            sh("small", "echo small", when=compare(ref("size"), "<=", 10)),
            sh("huge", 'echo "$1!"', ref("c"), when=both(IS_LARGE, compare(ref("size"), ">", 99))),
            sh("end", 'echo "$1 $2"', or_else(ref("c"), "-"), first_of(ref("c"), ref("small"))),
        ],
        expected,
        outputs=[out("said", source=or_else(ref("c"), "nothing"))],
    )


CASES: tuple[Case, ...] = (
    _files(
        "files-of-a-foreach-in-a-pod",
        ["x", "y", "z"],
        Expected(
            "succeeded",
            succeeded="write write[0] write[1] write[2] count show after",
            outputs={"after": {"result": "3\nx\ny\nz"}},
        ),
    ),
    _files(
        "no-files-in-a-pod",
        [],
        Expected("succeeded", succeeded="write count show after"),
    ),
    _files(
        "files-of-a-foreach-that-failed",
        ["x", "y"],
        Expected(
            "failed",
            succeeded="write[0]",
            failed="write write[1]",
            omitted="count show after",
        ),
        ends='test "$1" = x',
    ),
    _case(
        "lists-in-a-pod",
        [
            sh("letters", 'echo "$1"', item(), foreach=["p", "q"]),
            typed("score", foreach={"item": [1, 2]}),
            sh("first", 'echo "$1 $2"', ref("letters"), ref("score", "n")),
            sh("second", 'echo "$1 $2"', ref("score", "n"), ref("first"), depends_on=["letters"]),
            sh("after", 'echo "$1"', ref("second")),
        ],
        Expected(
            "succeeded",
            succeeded=("letters letters[0] letters[1] score score[0] score[1] first second after"),
            outputs={"after": {"result": '[7,7] ["p","q"] [7,7]'}},
        ),
    ),
    _conditions(
        "condition-of-a-pod-holds",
        "20",
        Expected(
            "succeeded",
            succeeded="size a b c end",
            skipped="small huge",
            outputs={"end": {"result": "abc abc"}},
            run_outputs={"said": "abc"},
        ),
    ),
    _conditions(
        "condition-of-a-pod-does-not-hold",
        "5",
        Expected(
            "succeeded",
            succeeded="size small end",
            skipped="a b c huge",
            outputs={"end": {"result": "- small"}},
            run_outputs={"said": "nothing"},
        ),
    ),
    _conditions(
        "condition-of-a-pod-is-no-number",
        "many",
        Expected("failed", succeeded="size", failed="a small", omitted="b c huge end"),
    ),
    _case(
        "condition-of-a-pod-below-a-failure",
        [
            sh("bad", "exit 3"),
            sh("a", "true", when=compare(1, "==", 1), depends_on=["bad"]),
            sh("b", "true", when=compare(1, "==", 1), depends_on=["a"]),
        ],
        Expected("failed", failed="bad", omitted="a b"),
    ),
    _case(
        "default-of-a-pod-that-is-skipped",
        [
            sh("a", "true", when=compare(1, "==", 2)),
            sh(
                "b",
                "true",
                when=compare(1, "==", 2),
                depends_on=["a"],
                outputs=[out("v", "int", "v", default=7)],
            ),
            sh("end", 'echo "$1"', or_else(ref("b", "v"), 1)),
        ],
        Expected("succeeded", succeeded="end", skipped="a b", outputs={"end": {"result": "7"}}),
    ),
    _case(
        "conditions-in-items",
        [
            group(
                "g",
                sh("a", "echo a", when=compare(param("n"), ">", 1)),
                sh("b", 'echo "$1$2"', ref("a"), param("n"), when=compare(param("n"), ">", 1)),
                inputs=[given("n", item(), "int")],
                outputs=[out("b", source=or_else(ref("b"), "-"))],
                foreach=[1, 2],
            ),
            sh("end", 'echo "$1"', ref("g", "b")),
        ],
        Expected(
            "succeeded",
            succeeded="g g[0] g[1] g[1]/a g[1]/b end",
            skipped="g[0]/a g[0]/b",
            outputs={"end": {"result": '["-","a2"]'}},
        ),
    ),
    _case(
        "condition-on-what-another-pod-gives",
        [
            sh("x", "echo 4"),
            sh("y", 'echo "$(($1 + 1))"', ref("x")),
            sh("a", "echo a", when=compare(ref("y"), "==", 5)),
            sh("b", 'echo "$1b"; exit 3', ref("a"), when=compare(ref("y"), "==", 5)),
            sh("end", "true", depends_on=["b"]),
        ],
        Expected("failed", succeeded="x y a", failed="b", omitted="end"),
    ),
    _case(
        "parameters-in-conditions",
        [
            sh("a", "echo a", when=compare(param("on"), "==", True)),
            sh("b", 'echo "$1b"', ref("a"), when=compare(param("on"), "==", True)),
            sh("c", 'echo "$1"', or_else(ref("b"), "off")),
        ],
        Expected("succeeded", succeeded="c", skipped="a b", outputs={"c": {"result": "off"}}),
        parameters=[parameter("on", False, "bool")],
    ),
)


class Grouped(t.NamedTuple):
    """A case, and its workflow with steps that share pods."""

    case: Case
    workflow: Workflow
    planned: Workflow
    log: PassLog


@cache
def grouped_in_python() -> dict[str, Grouped]:
    """Return, by name, the cases of the corpus and of here in which steps share pods.

    All steps are in the image of Python, which has a shell as well.
    """
    found = {}
    for case in (*cases(), *CASES):
        workflow = map_scopes(
            resolve_defaults(case.workflow), lambda scope: tuple(map(_in_python, scope.steps))
        )
        planned, log = Pipeline((Group(),)).run(workflow)
        if any(step.origin == GROUPED for step in all_steps(planned)):
            found[case.name] = Grouped(case, workflow, planned, log)
    return found


def _in_python(step: Step) -> Step:
    action = step.action
    if not isinstance(action, Container | Script):
        return step
    return step.model_copy(update={"action": action.model_copy(update={"image": PYTHON_IMAGE})})
