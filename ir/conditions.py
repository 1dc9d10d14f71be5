"""Conditions: a tree of comparisons."""

from __future__ import annotations

import typing as t
from collections.abc import Callable

from pydantic import Field as ModelField

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


def operands(condition: Condition) -> list[Value]:
    """Return the values that a condition compares, left to right."""
    return [operand for _, operand in VALUES.visit(condition)]


def map_operands(condition: Condition, change: Callable[[Value], Value]) -> Condition:
    """Return a condition with every value that it compares replaced."""
    return VALUES.map(condition, lambda _, operand: change(operand))
