"""Which inputs and outputs of groups have a task that evaluates them."""

from __future__ import annotations

import pytest

from couler.backends.airflow import AirflowBackend
from couler.backends.airflow.doubts import can_grow, has_doubts
from couler.backends.airflow.reading import Read, Scope
from couler.backends.base import Target
from couler.ir.defaults import resolve_defaults
from couler.ir.values import Literal, Range, StepRef, Template, Value
from couler.ir.wire import ValueType
from couler.ir.workflow import ExitHandler, Step
from tests.corpus.build import (
    compare,
    flow,
    given,
    group,
    item,
    last,
    on_completion,
    or_else,
    out,
    param,
    part,
    ref,
    rng,
    sh,
    text,
    while_,
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


def test_ranges_of_texts_can_be_large() -> None:
    many = Range(count=StepRef(step="a"), format="n%03d")
    assert can_grow(many, "list", {"a": sh("a", "true")}, {})
    assert not can_grow(many.model_copy(update={"format": None}), "list", {}, {})


def tasks_of(*steps: Step, **fields: object) -> str:
    """Return the tasks of a DAG file."""
    workflow = resolve_defaults(flow("sample", *steps, **fields))
    text_ = AirflowBackend().compile(workflow, Target()).to_text()
    return text_.partition("# Above: ")[2] or text_


def test_a_group_that_hands_on_is_no_longer_than_its_steps() -> None:
    plain = tasks_of(
        sh("a", "true"),
        group("g", sh("b", "echo $1", param("v")), inputs=[given("v", ref("a"))]),
        group("h", sh("b", "true"), outputs=[out("x", source=ref("b"))]),
    )
    assert "PythonOperator" not in plain


def test_an_end_gives_what_can_be_refused_or_large() -> None:
    refused = tasks_of(giving(part(ref("a"), "k")), sh("after", "echo $1", ref("g", "x")))
    assert 'return {"x": fitting("x", plain(part_of(output(ti, "g.a"), "k")))}' not in refused
    assert 'return {"x": plain(part_of(output(ti, "g.a"), "k"))}' in refused
    assert 'output(ti, "g.end", "x")' in refused
    large = tasks_of(giving(text(ref("a"), ref("b"))))
    assert '"x": fitting("x", joined(output(ti, "g.a"), plain(output(ti, "g.b"))))' in large
    run = tasks_of(sh("a", "true"), outputs=[out("x", source=text(ref("a"), "!"))])
    assert """fitting("x", joined(output(ti, "a"), "!"))""" in run


INPUTS = [given("v", part(ref("a"), "k")), given("w", ref("a"))]


def test_a_gate_evaluates_inputs_that_can_be_refused() -> None:
    once = tasks_of(sh("a", "true"), group("g", sh("b", "echo $1", param("v")), inputs=INPUTS))
    assert 'return {"v": plain(part_of(output(ti, "a"), "k"))}' in once
    gate = 'g_when = PythonOperator(task_id="when", python_callable=g_inputs, do_xcom_push=False)'
    assert gate in once
    assert "g_when >> b" in once
    inner = group("h", sh("b", "true"), inputs=[given("v", param("v"))])
    nested = tasks_of(sh("a", "true"), group("g", inner, inputs=INPUTS))
    assert nested.count("_inputs,") == 1, "what has been evaluated is not, again"
    skipped = group("g", sh("b", "true"), inputs=INPUTS, when=compare(ref("a"), "==", "1"))
    assert "pre_execute=run_if(when_g)" in tasks_of(sh("a", "true"), skipped)


def test_each_item_and_round_evaluates_its_inputs() -> None:
    items = [given("v", part(item(), "k"))]
    mapped = tasks_of(group("g", sh("b", "true"), inputs=items, foreach=[{"k": 1}, {}]))
    assert 'part_of(text(G_ITEMS[ti.map_index]["item"]), "k")' in mapped
    assert mapped.index("def g_item") < mapped.index("python_callable=g_inputs")
    again = [given("v", part(last("x", initial={"k": 1}), "k"))]
    outputs = [out("x", "json", source=ref("b"))]
    loop = while_(compare(last("x"), "!=", 1), 3)
    rounds = tasks_of(
        group("g", sh("b", "true", result="json"), inputs=again, outputs=outputs, loop=loop)
    )
    assert "python_callable=g_round_inputs" in rounds


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
    assert """'{{ output(ti, "check-outputs", "z") }}'""" in handled


@pytest.mark.parametrize("count", [10, 20])
def test_inputs_of_groups_are_read_where_they_are_needed(
    monkeypatch: pytest.MonkeyPatch, count: int
) -> None:
    read, reads = Scope.read, list[Value]()

    def counted(scope: Scope, value: Value) -> Read:
        reads.append(value)
        assert len(reads) < 100 * count, "each reads all that those before it read"
        return read(scope, value)

    monkeypatch.setattr(Scope, "read", counted)
    before: tuple[Value, Value] = (Literal(value="x"), Literal(value="y"))
    groups = []
    for number in range(count):
        inputs = [given("v", before[0]), given("w", before[1])]
        outputs = [out("o", source=ref("a")), out("p", source=ref("b"))]
        both = sh("a", "echo $1 $2", param("v"), param("w"))
        groups.append(group(f"g{number}", both, sh("b", "true"), inputs=inputs, outputs=outputs))
        before = (ref(f"g{number}", "o"), ref(f"g{number}", "p"))
    assert 'output(ti, "g8.b")' in tasks_of(*groups)
