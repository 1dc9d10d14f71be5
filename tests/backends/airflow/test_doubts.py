"""Which inputs and outputs of groups have a task that evaluates them."""

from __future__ import annotations

import pytest

from couler.backends.airflow import AirflowBackend
from couler.backends.airflow.doubts import has_doubts
from couler.backends.base import Target
from couler.ir.defaults import resolve_defaults
from couler.ir.values import Literal, Template, Value, ValueType
from couler.ir.workflow import ExitHandler, Step
from tests.corpus.build import (
    flow,
    given,
    group,
    item,
    on_completion,
    or_else,
    out,
    param,
    part,
    ref,
    rng,
    sh,
    text,
)


def giving(value: Value, kind: ValueType = "str") -> Step:
    """A group with one output."""
    return group(
        "g",
        sh("a", "echo 1"),
        sh("b", "echo 1", result="json"),
        sh("many", "echo 1", item(), foreach=[1, 2]),
        sh("counts", "echo 1", item(), foreach=[1, 2], result="int"),
        inputs=[given("v", "1"), given("n", 1, "int"), given("j", 1, "json")],
        outputs=[out("x", kind, source=value)],
    )


@pytest.mark.parametrize(
    ("value", "kind", "expected"),
    [
        (ref("a"), "str", False),
        (ref("a"), "int", False),
        (ref("a"), "json", True),
        (ref("b"), "json", False),
        (ref("b"), "str", True),
        (ref("many"), "list", False),
        (ref("counts"), "list", True),
        (param("v"), "str", True),
        (param("n"), "int", False),
        (param("j"), "str", True),
        (Literal(value={"a": 1}), "str", False),
        (part(ref("a"), "k"), "str", True),
        (or_else(ref("a"), "none"), "str", False),
        (or_else(ref("a"), part(ref("b"), "k")), "str", True),
        (rng(count=2), "list", False),
        (rng(count=ref("a")), "list", True),
        (Template(parts=("a", Literal(value=1))), "str", False),
        (text("<", ref("a"), ">"), "str", True),
    ],
)
def test_which_outputs_are_evaluated(value: Value, kind: ValueType, expected: bool) -> None:
    assert has_doubts(giving(value, kind)) == expected


def tasks_of(*steps: Step, **fields: object) -> str:
    """Return the tasks of a DAG file."""
    workflow = resolve_defaults(flow("sample", *steps, **fields))
    text_ = AirflowBackend().compile(workflow, Target()).to_text()
    return text_.partition("# Above: ")[2] or text_


def test_what_a_failed_step_gave_is_not_evaluated() -> None:
    each = sh("each", "echo x", item(), foreach=[1, 2], result="int")
    reader = sh("m", "echo $1", or_else(ref("each"), [7]))
    handled = tasks_of(each, exit_handlers=[ExitHandler(name="h", on="any", steps=(reader,))])
    whole = 'if not ended_so(ti, "failure", "each", ["each-lists"]) else None)'
    assert whole in handled
    late = sh("m", "echo $1", or_else(ref("g", "x"), "d"), depends_on=[on_completion("g")])
    assert "ended_so(ti" not in tasks_of(giving(part(ref("a"), "k")), late)


def test_outputs_of_a_run_are_evaluated_before_handlers_where_they_can_be_refused() -> None:
    steps = [sh("a", "true", result="int"), sh("b", "true")]
    tell = [ExitHandler(name="h", on="any", steps=(sh("x", "true"),))]
    plain = [out("x", "int", source=ref("a")), out("y", source=ref("b"))]
    assert "check-outputs" not in tasks_of(*steps, outputs=plain, exit_handlers=tell)
    refused = [*plain, out("z", source=part(ref("b"), "k"))]
    assert "check-outputs" not in tasks_of(*steps, outputs=refused)
    handled = tasks_of(*steps, outputs=refused, exit_handlers=tell)
    assert 'LEAVES = ["check-outputs"]' in handled
    assert "[a, b] >> check_outputs" in handled
    assert "check_outputs >> exit_h" in handled
    assert 'output(ti, "check-outputs", "z")' in handled
