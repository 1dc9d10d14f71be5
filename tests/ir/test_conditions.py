"""The one evaluator of conditions."""

from __future__ import annotations

import typing as t

import pytest
from hypothesis import given, strategies as st

from couler.errors import ConditionError
from couler.ir.semantics.comparisons import compare
from couler.ir.semantics.values import evaluate
from couler.ir.values import And, Compare, Condition, Literal, Not, Operator, Or, Value, children
from tests.support.strategies import json_values


@pytest.mark.parametrize(
    ("left", "op", "right", "expected"),
    [
        (1, "==", 1.0, True),
        (1, "==", True, False),
        (0, "==", False, False),
        (None, "==", None, True),
        (None, "==", "null", False),
        ("a", "==", "a", True),
        ("1", "==", "1.0", False),  # two texts
        ("1", "==", 1.0, True),  # a text read as a number
        (" 1 ", "==", 1, True),
        ("1e2", "==", 100, True),
        ("true", "==", True, True),
        ("False", "==", False, True),
        ("10", "<", "9", True),  # by code point
        ("10", "<", 9, False),
        ("é", ">", "z", True),
        ([1, [2]], "==", (1, (2,)), True),
        ([1], "==", [True], False),
        ([1], "==", ["1"], False),  # nothing is read inside a list
        ({"a": 1}, "==", {"a": 1.0}, True),
        ({"a": 1}, "!=", {"a": 1, "b": 2}, True),
        ([], "==", {}, False),
        (2**60, ">", 2.0**59, True),
        (-1, "<=", -1.0, True),
        (2**53 + 1, "==", 2**53, False),  # whole numbers are exact
        ("9007199254740993", ">", 2**53, True),
        (2**53 + 1, "==", 2.0**53, True),  # any other pair are floats
        (2**53 + 1, ">", "9007199254740992.0", False),
        ([2**53 + 1], "==", [2**53], True),  # as are all numbers inside
        (10**400, ">", 10**399, True),
        ("\t-1e-1\r\n", "<", 0, True),
        ("-0", "==", 0, True),
        ("\n true\t", "==", True, True),
        (None, "==", 0, False),
        (None, "==", "", False),
        (None, "!=", False, True),
    ],
)
def test_comparisons(left: object, op: Operator, right: object, expected: bool) -> None:
    assert compare(left, op, right) is expected


@pytest.mark.parametrize(
    ("left", "op", "right"),
    [
        ("one", "==", 1),
        ("", "<", 1),
        ("1_000", "==", 1000),
        ("nan", "==", 1.0),
        ("inf", "<", 1),
        ("+1", "==", 1),
        ("007", "==", 7),
        ("1.", "==", 1),
        (".5", "<", 1),
        ("0x10", "==", 16),
        ("1e999", ">", 1),
        ("\u0661", "==", 1),
        ("\xa01", "==", 1),
        ("true", "==", 1),
        ("null", "==", 1),
        ("yes", "==", True),
        ("TRUE", "==", True),
        (10**400, ">", 1.0),
        (10**400, "==", "1.5"),
        ([10**400], "==", [10**400]),
        ("1", "==", True),
        ([1], "<", [2]),
        ({}, ">=", {}),
        (True, "<", False),
        (None, "<=", None),
        (1, "<", None),
        ([1], ">", 0),
    ],
)
def test_what_cannot_be_compared(left: object, op: Operator, right: object) -> None:
    with pytest.raises(ConditionError):
        compare(left, op, right)


scalars = st.integers() | st.floats(allow_nan=False) | st.text(max_size=4)


@given(scalars, scalars)
def test_orders_agree_with_each_other(left: object, right: object) -> None:
    try:
        less = compare(left, "<", right)
    except ConditionError:
        return
    assert compare(right, ">", left) is less
    assert compare(left, ">=", right) is not less
    assert compare(left, "<=", right) is (less or compare(left, "==", right))


@given(json_values, json_values)
def test_equality_is_symmetric_and_not_unequal(left: object, right: object) -> None:
    try:
        equal = compare(left, "==", right)
    except ConditionError:
        return
    assert compare(right, "==", left) is equal
    assert compare(left, "!=", right) is not equal
    assert compare(left, "==", left)


def truth(holds: bool) -> Condition:
    return Compare(left=Literal(value=1), op="==" if holds else "!=", right=Literal(value=1))


def resolve(value: Value) -> t.Any:
    assert isinstance(value, Literal)
    return value.value


FAILS = Compare(left=Literal(value="x"), op="==", right=Literal(value=1))


@given(st.lists(st.booleans(), max_size=4))
def test_and_or_not(parts: list[bool]) -> None:
    items = tuple(map(truth, parts))
    assert evaluate(And(items=items), resolve) is all(parts)
    assert evaluate(Or(items=items), resolve) is any(parts)
    assert evaluate(Not(item=And(items=items)), resolve) is not all(parts)


def test_and_and_or_stop_as_soon_as_the_result_is_known() -> None:
    assert evaluate(And(items=(truth(False), FAILS)), resolve) is False
    assert evaluate(Or(items=(truth(True), FAILS)), resolve) is True
    with pytest.raises(ConditionError):
        evaluate(And(items=(FAILS, truth(False))), resolve)


def test_operands_come_from_left_to_right() -> None:
    def is_(number: int) -> Condition:
        return Compare(left=Literal(value=number), op="<", right=Literal(value=number + 1))

    condition = And(items=(is_(0), Or(items=(Not(item=is_(2)), is_(4)))))
    assert [resolve(value) for value in children(condition)] == [0, 1, 2, 3, 4, 5]
