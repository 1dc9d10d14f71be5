"""Which values can be refused when they are read, and which can be too large to travel."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from couler.ir.ranges import is_known
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
)
from couler.ir.workflow import Group, Output, Step

TEXTS: tuple[ValueType, ...] = ("str", "file", "directory")
"""What travels as it is."""
_SHORT: tuple[ValueType, ...] = ("int", "float", "bool", "file", "directory")


def find_output(step: Step, name: str) -> Output:
    """Return a step's output by name; standard output stands for an undeclared `result`."""
    found = next((one for one in step.outputs if one.name == name), None)
    return Output(name=name) if found is None else found


def can_fail(
    value: Value,
    want: ValueType,
    steps: Mapping[str, Step],
    params: Mapping[str, ValueType],
    loop: Step | None = None,
) -> bool:
    """Return whether a value can be refused, for what it is, by a reader of a type."""
    match value:
        case Field():
            return True
        case Range():
            return not is_known(value)
        case OrElse() | FirstOf():
            return any(can_fail(one, want, steps, params, loop) for one in _options(value))
        case Template():
            parts = (one for one in value.parts if not isinstance(one, str))
            return any(can_fail(one, "str", steps, params, loop) for one in parts)
        case StepRef():
            declared = find_output(steps[value.step], value.output).type
            if steps[value.step].foreach is not None:
                return declared not in TEXTS
            return declared == "json" != want
        case RoundRef():
            assert loop is not None, "verification has found the loop"
            first = value.initial is not None and can_fail(value.initial, want, steps, params)
            return first or find_output(loop, value.output).type == "json" != want
        case ParamRef():
            return params[value.name] == "json" != want
        case _:
            return False


def can_grow(
    value: Value, want: ValueType, steps: Mapping[str, Step], params: Mapping[str, ValueType]
) -> bool:
    """Return whether what a reader of a type gets can be larger than one value may be."""
    match value:
        case Field():
            return can_grow(value.of, "str", steps, params)
        case Range():
            return value.format is not None and not is_known(value)
        case OrElse() | FirstOf():
            return any(can_grow(one, want, steps, params) for one in _options(value))
        case Template():
            return not all(isinstance(one, str | Literal) for one in value.parts)
        case StepRef():
            is_list = steps[value.step].foreach is not None
            declared = find_output(steps[value.step], value.output).type
            return not is_list and declared in TEXTS and want == "json"
        case ParamRef():
            return params[value.name] not in _SHORT
        case _:
            return False


def has_doubts(step: Step) -> bool:
    """Return whether an output of a group can be refused, or be too large."""
    assert isinstance(step.action, Group)
    steps = {one.name: one for one in step.action.steps}
    return are_doubtful(step.outputs, steps, {one.name: one.type for one in step.inputs})


def are_doubtful(
    outputs: Iterable[Output], steps: Mapping[str, Step], params: Mapping[str, ValueType]
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


def _options(value: OrElse | FirstOf) -> tuple[Value, ...]:
    return value.options if isinstance(value, FirstOf) else (value.value, value.default)
