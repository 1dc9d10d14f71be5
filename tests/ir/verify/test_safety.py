"""Reads of outputs that may not be there, against a model of the rules of starting."""

from __future__ import annotations

import itertools
import typing as t
from collections.abc import Iterator, Mapping

import pytest
from hypothesis import given, strategies as st

from couler.ir.policies import AnyOf, Dependency
from couler.ir.semantics.values import evaluate
from couler.ir.values import (
    And,
    Compare,
    Condition,
    FirstOf,
    Literal,
    Not,
    OrElse,
    ParamRef,
    StepRef,
    Template,
    Value,
)
from couler.ir.verify import verify
from couler.ir.walk import explicit_dependencies, implied_dependencies
from couler.ir.workflow import Container, Output, Parameter, Step, Workflow
from tests.support.sample_flows import OVER_LIST, A, echo, flow
from tests.support.verification import codes, only

NONE = Literal(value="none")
B = StepRef(step="b")
PARAMETERS = (Parameter(name="p", default="x"), Parameter(name="q", default="x"))


def is_x(name: str) -> Condition:
    return Compare(left=ParamRef(name=name), op="==", right=Literal(value="x"))


P, Q = is_x("p"), is_x("q")


def after(name: str, on: t.Literal["failure", "completion"]) -> Dependency:
    return Dependency(step=name, on=on)


def found(*steps: Step, **fields: t.Any) -> list[str]:
    return codes(flow(*steps, parameters=PARAMETERS, **fields))


def test_a_read_under_the_same_condition_is_safe() -> None:
    assert found(echo("a", when=P), echo("b", A, when=P)) == []
    assert found(echo("a", when=P), echo("b", A, when=And(items=(P, Q)))) == []
    assert found(echo("a", when=And(items=(P, Q))), echo("b", A, when=And(items=(Q, P)))) == []


def test_a_read_under_another_condition_is_not() -> None:
    for when in (None, Q, Not(item=P)):
        assert found(echo("a", when=P), echo("b", A, when=when)) == ["CLR211"]
    assert found(echo("a", when=And(items=(P, Q))), echo("b", A, when=P)) == ["CLR211"]


def test_numbers_and_booleans_are_not_the_same_condition() -> None:
    def compared(value: object) -> Condition:
        return Compare(left=ParamRef(name="p"), op="==", right=Literal(value=value))

    assert 1 == True  # which is why it must be told apart
    steps = (echo("a", when=compared(1)), echo("b", A, when=compared(True)))
    assert codes(flow(*steps, parameters=(Parameter(name="p", type="json"),))) == ["CLR211"]


def test_the_message_says_where_and_how_to_mend() -> None:
    message = only(flow(echo("a", when=P), echo("b", A), parameters=PARAMETERS)).message
    assert message == (
        'step "b": args reads a.result, but "a" is skipped when its condition is false. Give the '
        "value a default: a.result.or_else(...), or let this be under the same condition."
    )


def test_defaults_make_a_read_safe() -> None:
    skipped = echo("a", when=P)
    assert found(skipped, echo("b", OrElse(value=A, default=NONE))) == []
    assert found(skipped, echo("b", FirstOf(options=(A, NONE)))) == []
    with_default = (Output(name="result", path="r", default="none"),)
    assert found(echo("a", when=P, outputs=with_default), echo("b", A)) == []
    # The default of an item is no list.
    over = echo("a", when=P, outputs=with_default, foreach=OVER_LIST)
    assert found(over, echo("b", A)) == ["CLR211"]
    # The default itself is read as well.
    assert found(skipped, echo("b", OrElse(value=NONE, default=A))) == ["CLR211"]


def test_skipping_is_not_inherited_but_reading_is_checked_everywhere() -> None:
    assert found(echo("a", when=P), echo("b", depends_on=("a",)), echo("c", B)) == []
    assert found(echo("a", when=P), echo("b", when=Compare(left=A, op="==", right=NONE))) == [
        "CLR211"
    ]


def test_in_a_condition_what_stands_before_holds() -> None:
    reads = Compare(left=A, op="==", right=Literal(value="y"))
    assert found(echo("a", when=P), echo("b", when=And(items=(P, reads)))) == []
    assert found(echo("a", when=P), echo("b", when=And(items=(reads, P)))) == ["CLR211"]


@pytest.mark.parametrize("on", ["failure", "completion"])
def test_a_step_that_may_have_failed_is_read_with_a_default(
    on: t.Literal["failure", "completion"],
) -> None:
    assert found(echo("a"), echo("b", A, depends_on=(after("a", on),))) == ["CLR212"]
    safe = OrElse(value=A, default=NONE)
    assert found(echo("a"), echo("b", safe, depends_on=(after("a", on),))) == []


def test_first_of_alternatives() -> None:
    def merged(*options: Value, **fields: t.Any) -> Step:
        return echo("c", FirstOf(options=options), **fields)

    yes, no = echo("a", when=P), echo("b", when=Not(item=P))
    assert found(yes, no, merged(A, B)) == []
    other = echo("b", when=Compare(left=ParamRef(name="p"), op="!=", right=Literal(value="x")))
    assert found(yes, other, merged(A, B)) == []
    assert found(yes, echo("b", when=Q), merged(A, B)) == ["CLR214"]
    assert found(yes, echo("b", when=Q), merged(A, B, NONE)) == []
    assert found(yes, echo("b", when=Q), merged(A, B, when=P)) == []
    assert found(echo("a"), merged()) == ["CLR214"]


# The model: docs/semantics.md, 3 and 4.


class Run(t.NamedTuple):
    """The outcome of one way in which things can go."""

    states: dict[str, str]
    missing: list[str]
    """Steps that ran and read what was not there."""
    succeeded: bool


def _is_met(state: str, on: str) -> bool:
    match on:
        case "success":
            return state in ("succeeded", "skipped")
        case "failure":
            return state == "failed"
    return True


def _start(step: Step, states: Mapping[str, str], holds: bool) -> str:
    strict = [name for name, on in _plain(step) if on == "success"]
    alternatives = [entry for entry in step.depends_on if isinstance(entry, AnyOf)]
    failing = [not _is_met(states[name], "success") for name in strict]
    skipping = [not _is_met(states[n], on) for n, on in _plain(step) if on != "success"]
    for entry in alternatives:
        options = list(explicit_dependencies(Step(name="x", action=NO_ACTION, depends_on=(entry,))))
        met = any(_is_met(states[name], on) for name, on in options)
        into = skipping if any(on == "failure" for _, on in options) else failing
        into.append(not met)
    if any(failing):
        return "omitted"
    return "runs" if holds and not any(skipping) else "skipped"


def _plain(step: Step) -> Iterator[tuple[str, str]]:
    for entry in step.depends_on:
        if isinstance(entry, str):
            yield entry, "success"
        elif isinstance(entry, Dependency):
            yield entry.step, entry.on
    yield from ((name, "success") for name in implied_dependencies(step))


NO_ACTION = Container(image="alpine:3")


def _can_read(value: Value, states: Mapping[str, str]) -> bool:
    match value:
        case StepRef():
            return states[value.step] == "succeeded"
        case OrElse():
            return _can_read(value.value, states) or _can_read(value.default, states)
        case FirstOf():
            return any(_can_read(option, states) for option in value.options)
        case Template():
            return all(_can_read(p, states) for p in value.parts if not isinstance(p, str))
    return True


def run(workflow: Workflow, parameters: Mapping[str, str], works: Mapping[str, bool]) -> Run:
    states: dict[str, str] = {}
    missing: list[str] = []
    for step in workflow.steps:
        holds = step.when is None or evaluate(
            step.when, lambda v: parameters[v.name] if isinstance(v, ParamRef) else v.value
        )
        state = _start(step, states, holds)
        if state == "runs":
            assert isinstance(step.action, Container)
            values = [word for word in step.action.args if not isinstance(word, str)]
            if not all(_can_read(value, states) for value in values):
                missing.append(step.name)
            state = "succeeded" if works[step.name] else "failed"
        states[step.name] = state
    branch_failed: dict[str, bool] = {}
    waited_for: set[str] = set()
    for step in workflow.steps:
        before = {name for name, _ in _plain(step)} | {n for n, _ in explicit_dependencies(step)}
        waited_for |= before
        ran = states[step.name] in ("succeeded", "failed")
        own = states[step.name] == "failed"
        branch_failed[step.name] = own if ran else any(branch_failed[name] for name in before)
    leaves = [step.name for step in workflow.steps if step.name not in waited_for]
    return Run(states, missing, not any(branch_failed[name] for name in leaves))


def all_runs(workflow: Workflow) -> Iterator[Run]:
    names = [step.name for step in workflow.steps]
    for p, q in itertools.product("xy", repeat=2):
        for works in itertools.product((True, False), repeat=len(names)):
            yield run(workflow, {"p": p, "q": q}, dict(zip(names, works, strict=True)))


CONDITIONS = [None, None, P, Q, Not(item=P), And(items=(P, Q)), And(items=(Not(item=P), Q))]


@st.composite
def graphs(draw: st.DrawFn, *, only_conditions: bool = False) -> Workflow:
    steps: list[Step] = []
    for name in "abcde"[: draw(st.integers(2, 5))]:
        values: list[Value] = []
        depends_on: list[str | Dependency | AnyOf] = []
        if steps:
            before = st.sampled_from([step.name for step in steps])
            reads = st.builds(StepRef, step=before)
            value = reads
            if not only_conditions:
                value = (
                    reads
                    | st.builds(OrElse, value=reads, default=st.just(NONE) | reads)
                    | st.builds(FirstOf, options=st.tuples(reads, reads))
                    | st.builds(FirstOf, options=st.tuples(reads, reads, reads))
                )
                plain = before | st.builds(
                    Dependency, step=before, on=st.sampled_from(["failure", "completion"])
                )
                entry = plain | st.builds(
                    AnyOf, options=st.lists(plain, min_size=1, max_size=2).map(tuple)
                )
                depends_on = draw(st.lists(entry, max_size=2, unique=True))
            values = draw(st.lists(value, max_size=2))
        steps.append(
            echo(
                name, *values, depends_on=tuple(depends_on), when=draw(st.sampled_from(CONDITIONS))
            )
        )
    outputs = ()
    if not only_conditions and draw(st.booleans()):
        outputs = (Output(value=StepRef(step=draw(st.sampled_from(steps)).name)),)
    return flow(*steps, outputs=outputs, parameters=PARAMETERS)


UNSAFE = {"CLR211", "CLR212", "CLR213", "CLR214"}


@given(graphs())
def test_a_workflow_without_reports_never_reads_what_is_not_there(workflow: Workflow) -> None:
    if UNSAFE & set(codes(workflow)):
        return
    for outcome in all_runs(workflow):
        assert not outcome.missing, outcome
        if outcome.succeeded and workflow.outputs:
            value = workflow.outputs[0].value
            assert value is not None
            assert _can_read(value, outcome.states), outcome


@given(graphs(only_conditions=True))
def test_what_is_reported_of_conditions_can_happen(workflow: Workflow) -> None:
    reported = {d.step for d in verify(workflow) if d.code == "CLR211"}
    happened = {name for outcome in all_runs(workflow) for name in outcome.missing}
    assert reported == happened
