"""Which features a value asks of an engine."""

from __future__ import annotations

import typing as t
from collections.abc import Callable

from couler.ir.features import Feature
from couler.ir.values import (
    Field,
    FirstOf,
    ItemRef,
    Literal,
    OrElse,
    OwnRef,
    ParamRef,
    Range,
    RoundRef,
    RunRef,
    StepRef,
    Template,
    Value,
    walk,
)

_WITHOUT_FEATURES = frozenset((Literal, ParamRef, StepRef, ItemRef))


def add_value_features(value: Value, add: Callable[[Feature], object]) -> None:
    """Add the features of a value and of those inside it."""
    if type(value) in _WITHOUT_FEATURES:  # most are: an isinstance that says no takes longer
        return
    for inner in walk(value):
        match inner:
            case Field():
                add(Feature.FIELD)
            case OrElse():
                add(Feature.OR_ELSE)
            case FirstOf():
                add(Feature.FIRST_OF)
            case Range():
                add(Feature.RANGE)
            case Template():
                add(Feature.TEMPLATE)
            case RunRef(field="id"):
                add(Feature.RUN_ID)
            case RunRef(field="logical_date"):
                add(Feature.RUN_LOGICAL_DATE)
            case RunRef():
                add(Feature.RUN_STATUS)
            case Literal() | ParamRef() | StepRef() | ItemRef() | RoundRef() | OwnRef():
                pass
            case _:
                t.assert_never(inner)
