"""Which values can be refused when they are read, and which can be too large to travel."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from couler.ir.ranges import is_known
from couler.ir.semantics import SHORT_TYPES, TEXT_TYPES, Kind, find_output, kind_of
from couler.ir.values import (
    Field,
    FirstOf,
    Literal,
    OrElse,
    ParamRef,
    Range,
    RoundRef,
    StepRef,
    Template,
    Value,
    ValueType,
    children,
)
from couler.ir.workflow import Group, Output, Step


def can_fail(
    value: Value,
    want: ValueType,
    steps: Mapping[str, Step],
    params: Mapping[str, Kind],
    loop: Step | None = None,
) -> bool:
    """Return whether a value can be refused, for what it is, by a reader of a type."""
    if isinstance(value, Field):
        return True
    if isinstance(value, Range):
        return not is_known(value)
    inner: ValueType = "str" if isinstance(value, Template) else want
    if any(can_fail(one, inner, steps, params, loop) for one in children(value)):
        return True
    if not isinstance(value, StepRef | RoundRef | ParamRef):
        return False
    kind = kind_of(value, loop, steps, params)
    return kind.type not in TEXT_TYPES if kind.many else kind.type == "json" != want


def can_grow(
    value: Value, want: ValueType, steps: Mapping[str, Step], params: Mapping[str, Kind]
) -> bool:
    """Return whether what a reader of a type gets can be larger than one value may be."""
    match value:
        case Range():
            return value.format is not None and not is_known(value)
        case Template():
            return not all(isinstance(one, str | Literal) for one in value.parts)
        case StepRef():
            kind = kind_of(value, None, steps, params)
            return not kind.many and kind.type in TEXT_TYPES and want == "json"
        case ParamRef():
            return params[value.name].type not in SHORT_TYPES
        case Field() | OrElse() | FirstOf():
            inner: ValueType = "str" if isinstance(value, Field) else want
            return any(can_grow(one, inner, steps, params) for one in children(value))
    return False


def has_doubts(step: Step) -> bool:
    """Return whether an output of a group can be refused, or be too large."""
    assert isinstance(step.action, Group)
    steps = {one.name: one for one in step.action.steps}
    return are_doubtful(step.outputs, steps, {one.name: Kind(one.type) for one in step.inputs})


def are_doubtful(
    outputs: Iterable[Output], steps: Mapping[str, Step], params: Mapping[str, Kind]
) -> bool:
    """Return whether one of the outputs of a scope can be refused, or be too large."""
    return any(
        can_fail(one.value, one.type, steps, params) or can_grow(one.value, one.type, steps, params)
        for one in outputs
        if one.value is not None
    )


def may_give_more(step: Step) -> bool:
    """Return whether a group gives something although none of its steps ran."""
    assert isinstance(step.action, Group)
    steps = {one.name: one for one in step.action.steps}
    for output in step.outputs:
        if not isinstance(output.value, StepRef):
            return True
        inner = steps[output.value.step]
        is_group = isinstance(inner.action, Group) and inner.loop is None and inner.foreach is None
        declared = find_output(inner, output.value.output)
        if declared.default is not None or (is_group and may_give_more(inner)):
            return True
    return False
