"""Conditions: a tree of comparisons, and the one evaluator that gives it meaning."""

from __future__ import annotations

import math
import operator
import typing as t
from collections.abc import Callable

from pydantic import Field as ModelField

from couler.errors import ConditionError
from couler.ir.base import Variant
from couler.ir.traversal import At
from couler.ir.values import VALUES, Value

Operator: t.TypeAlias = t.Literal["==", "!=", "<", "<=", ">", ">="]


class Compare(Variant):
    """Two values compared."""

    kind: t.Literal["compare"] = "compare"
    left: t.Annotated[Value, At("")]
    op: Operator
    right: t.Annotated[Value, At("")]


class And(Variant):
    """True if every part is true; true if there are none."""

    kind: t.Literal["and"] = "and"
    items: t.Annotated[tuple[Condition, ...], At("")]


class Or(Variant):
    """True if some part is true; false if there are none."""

    kind: t.Literal["or"] = "or"
    items: t.Annotated[tuple[Condition, ...], At("")]


class Not(Variant):
    """True if its part is false."""

    kind: t.Literal["not"] = "not"
    item: t.Annotated[Condition, At("")]


Condition = t.Annotated[Compare | And | Or | Not, ModelField(discriminator="kind")]

_ORDERINGS: dict[str, Callable[[t.Any, t.Any], bool]] = {
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
}


def operands(condition: Condition) -> list[Value]:
    """Return the values that a condition compares, left to right."""
    return [operand for _, operand in VALUES.visit(condition)]


def map_operands(condition: Condition, change: Callable[[Value], Value]) -> Condition:
    """Return a condition with every value that it compares replaced."""
    return VALUES.map(condition, lambda _, operand: change(operand))


def evaluate(condition: Condition, resolve: Callable[[Value], object]) -> bool:
    """Return whether a condition holds."""
    match condition:
        case Compare():
            return compare(resolve(condition.left), condition.op, resolve(condition.right))
        case And():
            return all(evaluate(item, resolve) for item in condition.items)
        case Or():
            return any(evaluate(item, resolve) for item in condition.items)
        case Not():
            return not evaluate(condition.item, resolve)
    t.assert_never(condition)


def compare(left: object, op: Operator, right: object) -> bool:
    """Compare two JSON values by the rules of the IR."""
    left, right = _read_as(left, right), _read_as(right, left)
    if op == "==":
        return _equal(left, right)
    if op == "!=":
        return not _equal(left, right)
    if (_is_number(left) and _is_number(right)) or (
        isinstance(left, str) and isinstance(right, str)
    ):
        return _ORDERINGS[op](left, right)
    raise ConditionError(
        f"{_show(left)} {op} {_show(right)}: only two numbers or two texts have an order"
    )


def parse_number(text: str) -> int | float:
    """Read text as a number, as comparisons do: decimal notation, blanks around it ignored."""
    stripped = text.strip()
    for kind in (int, float):
        try:
            number = kind(stripped)
        except ValueError:
            continue
        if "_" not in stripped and math.isfinite(number):
            return number
    raise ConditionError(f"{_show(text)} is compared with a number, but it is not one")


def _read_as(value: object, other: object) -> object:
    if not isinstance(value, str):
        return value
    if isinstance(other, bool):
        return _parse_bool(value)
    if _is_number(other):
        return parse_number(value)
    return value


def _parse_bool(text: str) -> bool:
    match text.strip():
        case "true" | "True":
            return True
        case "false" | "False":
            return False
    raise ConditionError(f"{_show(text)} is compared with true or false, but it is neither")


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _equal(left: object, right: object) -> bool:
    if isinstance(left, list | tuple) and isinstance(right, list | tuple):
        return len(left) == len(right) and all(map(_equal, left, right))
    if isinstance(left, dict) and isinstance(right, dict):
        return left.keys() == right.keys() and all(_equal(left[key], right[key]) for key in left)
    if isinstance(left, bool) or isinstance(right, bool):
        return left is right
    return bool(left == right)


def _show(value: object) -> str:
    text = repr(value)
    return text if len(text) <= 60 else text[:57] + "..."
