"""Conditions: a tree of comparisons."""

from __future__ import annotations

import typing as t
from collections.abc import Callable, Iterator

from pydantic import Field as ModelField

from couler.ir.base import Variant
from couler.ir.values import Value

Operator: t.TypeAlias = t.Literal["==", "!=", "<", "<=", ">", ">="]


class Compare(Variant):
    """Two values compared."""

    kind: t.Literal["compare"] = "compare"
    left: Value
    op: Operator
    right: Value


class And(Variant):
    """True if every part is true; true if there are none."""

    kind: t.Literal["and"] = "and"
    items: tuple[Condition, ...]


class Or(Variant):
    """True if some part is true; false if there are none."""

    kind: t.Literal["or"] = "or"
    items: tuple[Condition, ...]


class Not(Variant):
    """True if its part is false."""

    kind: t.Literal["not"] = "not"
    item: Condition


Condition = t.Annotated[Compare | And | Or | Not, ModelField(discriminator="kind")]


def operands(condition: Condition) -> Iterator[Value]:
    """Yield the values that a condition compares, left to right."""
    match condition:
        case Compare():
            yield condition.left
            yield condition.right
        case And() | Or():
            for item in condition.items:
                yield from operands(item)
        case Not():
            yield from operands(condition.item)
        case _:
            t.assert_never(condition)


def map_operands(condition: Condition, change: Callable[[Value], Value]) -> Condition:
    """Return a condition with every value that it compares replaced."""
    match condition:
        case Compare():
            sides = {"left": change(condition.left), "right": change(condition.right)}
            return condition.model_copy(update=sides)
        case And() | Or():
            items = tuple(map_operands(item, change) for item in condition.items)
            return condition.model_copy(update={"items": items})
        case Not():
            return condition.model_copy(update={"item": map_operands(condition.item, change)})
    t.assert_never(condition)
