"""Rules for conditions, and what can be known of their results beforehand."""

from __future__ import annotations

import typing as t

import pytest
from hypothesis import given, strategies as st

from couler.errors import ConditionError
from couler.ir.policies import Loop
from couler.ir.semantics.values import evaluate
from couler.ir.values import (
    And,
    Compare,
    Condition,
    Literal,
    Not,
    Operator,
    Or,
    ParamRef,
    RoundRef,
    StepRef,
    Value,
    ValueType,
)
from couler.ir.verify import verify
from couler.ir.verify.logic import Logic
from couler.ir.workflow import Output, Parameter
from tests.support.sample_flows import OVER_LIST, A, echo, flow
from tests.support.verification import codes, only


def compare(left: object, op: Operator, right: object) -> Compare:
    def value(side: object) -> Value:
        if isinstance(side, StepRef | ParamRef | RoundRef):
            return side
        return Literal(value=side)

    return Compare(left=value(left), op=op, right=value(right))


def when(condition: Condition, declared: ValueType = "str") -> list[str]:
    producer = echo("a", outputs=(Output(type=declared),))
    parameters = (Parameter(name="size", default="small", choices=("small", "large")),)
    return codes(flow(producer, echo("b", when=condition), parameters=parameters))


@pytest.mark.parametrize(
    ("condition", "declared"),
    [
        (compare(A, "==", "one"), "int"),
        (compare("one", "<", A), "float"),
        (compare(A, "==", "yes"), "bool"),
        (compare(A, "<", 3), "list"),
        (compare(A, ">=", A), "dict"),
        (compare(A, "<", True), "bool"),
        (compare(A, "<", None), "json"),
        (compare((1,), "<", (2,)), "str"),
        (compare(1, "<", "x"), "str"),
    ],
)
def test_values_that_cannot_be_compared(condition: Compare, declared: ValueType) -> None:
    assert when(condition, declared) == ["CLR181"]


@pytest.mark.parametrize(
    ("condition", "declared"),
    [
        (compare(A, "==", 1), "str"),
        (compare(A, "<", "10"), "int"),
        (compare(A, "==", "true"), "bool"),
        (compare(A, "==", (1, 2)), "list"),
        (compare(A, "<", "b"), "str"),
        (compare(A, "==", None), "json"),
        (compare(A, ">", 1), "json"),
    ],
)
def test_values_that_can_be_compared(condition: Compare, declared: ValueType) -> None:
    assert when(condition, declared) == []


def test_a_gathered_list_has_no_order() -> None:
    producer = echo("a", foreach=OVER_LIST)
    assert codes(flow(producer, echo("b", when=compare(A, ">", 1)))) == ["CLR181"]


SIZE = ParamRef(name="size")

NEVER: list[tuple[Condition, ValueType]] = [
    (compare(1, "==", 2), "str"),
    (compare("dev", "==", "prod"), "str"),
    (And(items=(compare(A, "==", "x"), compare(A, "==", "y"))), "str"),
    (And(items=(compare(A, "==", 1), compare(A, "==", 2))), "str"),
    (And(items=(compare(A, "==", 1), compare(A, "!=", 1))), "str"),
    (And(items=(compare(A, ">", 5), compare(A, "<", 3))), "float"),
    (And(items=(compare(A, ">=", 5), compare(A, "<", 5))), "float"),
    (And(items=(compare(A, "==", 7), compare(A, "<", 5))), "float"),
    (And(items=(compare(A, "==", 2**54), compare(A, "<", 5))), "float"),
    (And(items=(compare(5, "<", A), compare(A, "==", "5"))), "float"),
    (And(items=(compare(A, "==", "x"), Not(item=compare(A, "==", "x")))), "str"),
    (And(items=(compare(A, "==", True), compare(A, "==", 1))), "json"),
    (compare(SIZE, "==", "smal"), "str"),
    (And(items=(compare(SIZE, "!=", "small"), compare(SIZE, "!=", "large"))), "str"),
    (compare(A, "==", 1), "list"),
    (compare(A, "==", None), "int"),
    (Or(items=()), "str"),
]

ALWAYS: list[tuple[Condition, ValueType]] = [
    (compare(1, "<", 2), "str"),
    (Or(items=(compare(A, "==", "x"), compare(A, "!=", "x"))), "str"),
    (Or(items=(compare(A, "<", 3), compare(A, ">=", 3))), "float"),
    (compare(SIZE, "!=", "smal"), "str"),
    (compare(A, "!=", (1,)), "dict"),
    (And(items=()), "str"),
]

OPEN: list[tuple[Condition, ValueType]] = [
    (And(items=(compare(A, "==", 1), compare(A, "==", "1.0"))), "str"),
    (And(items=(compare(A, "==", "1"), compare(A, "==", "1.0"))), "json"),
    (And(items=(compare(A, ">", 3), compare(A, "<", 5))), "float"),
    (And(items=(compare(A, ">=", 5), compare(A, "<=", 5))), "float"),
    (And(items=(compare(A, "==", "true"), compare(A, "==", True))), "json"),
    (Or(items=(compare(SIZE, "==", "small"), compare(SIZE, "==", "smal"))), "str"),
    (compare(A, "==", (1,)), "json"),
    (And(items=(compare(A, "==", 2**54), compare(A, ">", 3))), "int"),
    (And(items=(compare(A, ">=", 2**53 + 1), compare(A, "<=", 2.0**53))), "json"),
]


@pytest.mark.parametrize(("condition", "declared"), NEVER)
def test_conditions_that_never_hold(condition: Condition, declared: ValueType) -> None:
    producer = echo("a", outputs=(Output(type=declared),))
    parameters = (Parameter(name="size", default="small", choices=("small", "large")),)
    found = only(flow(producer, echo("b", when=condition), parameters=parameters))
    assert (found.code, found.severity) == ("CLR207", "warning")
    assert "never runs" in found.message


@pytest.mark.parametrize(("condition", "declared"), ALWAYS)
def test_conditions_that_always_hold(condition: Condition, declared: ValueType) -> None:
    producer = echo("a", outputs=(Output(type=declared),))
    parameters = (Parameter(name="size", default="small", choices=("small", "large")),)
    found = only(flow(producer, echo("b", when=condition), parameters=parameters))
    assert (found.code, found.severity) == ("CLR207", "warning")
    assert "always holds" in found.message


@pytest.mark.parametrize(("condition", "declared"), OPEN)
def test_conditions_that_can_go_either_way(condition: Condition, declared: ValueType) -> None:
    assert when(condition, declared) == []


def test_many_comparisons_are_left_alone() -> None:
    parts = tuple(compare(A, "==", f"x{index}") for index in range(12))
    assert when(And(items=parts)) == []


def test_loops() -> None:
    def loops(condition: Condition) -> list[tuple[str, str]]:
        step = echo("b", loop=Loop(condition=condition))
        return [(d.code, d.severity) for d in verify(flow(echo("a"), step))]

    last = RoundRef()
    assert loops(compare(last, "!=", "done")) == []
    assert loops(compare(A, "!=", "done")) == [("CLR221", "error")]
    assert loops(compare(1, "==", 1)) == [("CLR221", "error")]
    both = (compare(last, "==", "x"), compare(last, "!=", "x"))
    assert loops(Or(items=both)) == [("CLR222", "error")]
    assert loops(And(items=both)) == [("CLR222", "warning")]


X, Y = ParamRef(name="x"), ParamRef(name="y")
scalars: st.SearchStrategy[t.Any] = (
    st.sampled_from([0, 1, 2, 1.0, 1.5, -1, "0", "1", "1.0", " 1", "x", "", "true", "True", "null"])
    | st.booleans()
    | st.none()
)
comparisons = st.builds(
    Compare,
    left=st.sampled_from([X, Y]),
    op=st.sampled_from(["==", "!=", "<", "<=", ">", ">="]),
    right=scalars.map(lambda value: Literal(value=value)) | st.sampled_from([X, Y]),
) | st.builds(
    Compare,
    left=scalars.map(lambda value: Literal(value=value)),
    op=st.sampled_from(["==", "!=", "<", "<=", ">", ">="]),
    right=st.sampled_from([X, Y]),
)
conditions: st.SearchStrategy[Condition] = st.recursive(
    comparisons,
    lambda inner: (
        st.builds(And, items=st.lists(inner, max_size=3).map(tuple))
        | st.builds(Or, items=st.lists(inner, max_size=3).map(tuple))
        | st.builds(Not, item=inner)
    ),
    max_leaves=5,
)


@given(conditions, scalars, scalars)
def test_every_result_of_a_condition_was_foreseen(
    condition: Condition, x: object, y: object
) -> None:
    values = {"x": x, "y": y}
    try:
        result = evaluate(
            condition, lambda v: values[v.name] if isinstance(v, ParamRef) else v.value
        )
    except ConditionError:
        return
    logic = Logic({})
    assert result in logic.results(logic.formula(condition))
    limited = Logic({"x": (x, "other"), "y": (y,)})
    assert result in limited.results(limited.formula(condition))
