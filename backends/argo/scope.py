"""What a value is and where it comes from, seen from the steps of one scope."""

from __future__ import annotations

import re
import typing as t
from collections.abc import Iterable, Mapping

from couler.ir.policies import AnyOf, Dependency
from couler.ir.semantics import (
    ANY,
    NUMBER_TYPES,
    SHORT_TYPES,
    TEXT_TYPES,
    find_output,
    item_type,
    kind_of,
)
from couler.ir.semantics.wire import dump_json
from couler.ir.values import (
    FirstOf,
    ItemRef,
    Literal,
    OrElse,
    ParamRef,
    RunRef,
    StepRef,
    Value,
    ValueType,
    children,
    is_file,
)
from couler.ir.walk import explicit_dependencies, told_apart
from couler.ir.workflow import (
    STDOUT,
    Group,
    Input,
    Output,
    Plugin,
    Step,
    TemplateCall,
    Workflow,
)

NUMBERS: tuple[ValueType, ...] = ("int", "float")
TAG_SAFE = SHORT_TYPES
"""Types whose values have no characters that a plain tag of Argo breaks on."""


class ScopeView(t.NamedTuple):
    """The names that the steps of one scope can read."""

    steps: Mapping[str, Step]
    params: Mapping[str, ValueType]
    owner: Step | None = None
    """The group; None for the workflow's own scope and for exit handlers."""
    outer: Mapping[str, Step] = {}
    """For exit handlers: the workflow's own steps."""
    scheduled: bool = False
    """The workflow has a schedule."""
    encoded: frozenset[str] = frozenset()
    """The inputs of the group that come with their braces encoded."""
    safe: frozenset[str] = frozenset()
    """Its inputs that neither a plain tag nor the kubelet breaks on, whatever their types."""

    @classmethod
    def of_workflow(cls, workflow: Workflow) -> ScopeView:
        """Return the view from the workflow's own steps."""
        return cls(
            steps={step.name: step for step in workflow.steps},
            params={parameter.name: parameter.type for parameter in workflow.parameters},
            scheduled=workflow.schedule is not None,
        )

    def of_handler(self, steps: tuple[Step, ...]) -> ScopeView:
        """Return the view from the steps of an exit handler."""
        return self._replace(steps={step.name: step for step in steps}, outer=self.steps)

    def inside(self, owner: Step, group: Group) -> ScopeView:
        """Return the view from inside a group."""
        return ScopeView(
            steps={step.name: step for step in group.steps},
            params={given.name: travels_as(given) for given in owner.inputs},
            owner=owner,
            scheduled=self.scheduled,
            encoded=frozenset(
                given.name
                for given in owner.inputs
                if self.is_encoded(owner, value_of(given), travels_as(given))
            ),
            safe=frozenset(
                given.name for given in owner.inputs if self.is_safe(value_of(given), owner)
            ),
        )

    def is_safe(self, value: Value, step: Step | None) -> bool:
        """Return whether neither a plain tag nor the kubelet breaks on a value."""
        if self.type_of(value, step) in TAG_SAFE:
            return True
        if isinstance(value, ParamRef):
            return value.name in self.safe
        if isinstance(value, ItemRef) and step is not None and step.foreach is not None:
            items = step.foreach.over[value.name]
            if self.is_list_of_numbers(items):
                return True
            is_text = isinstance(items, Literal) and not is_read_as_json(step, value.name)
            return is_text and all(map(_is_safe, t.cast("Literal", items).value or ()))
        return self.is_list_of_numbers(value)

    def is_list_of_numbers(self, value: Value) -> bool:
        """Return whether functions gave a list, and only numbers in it."""
        if isinstance(value, ParamRef):
            return value.name in self.safe and self.params[value.name] == "list"
        return isinstance(value, StepRef) and items_given(self.steps, value) in NUMBER_TYPES

    def is_list_of_texts(self, value: Value) -> bool:
        """Return whether functions gave a list, and only texts in it."""
        return isinstance(value, StepRef) and items_given(self.steps, value) in TEXT_TYPES

    def is_encoded(self, step: Step, value: Value, value_type: ValueType) -> bool:
        """Return whether a step is given a value with its braces encoded: it may have some."""
        if value_type in TAG_SAFE or self.is_safe(value, step):
            return False
        if isinstance(step.action, Plugin | TemplateCall):
            return False  # those have templates that decode nothing
        if isinstance(value, ItemRef):
            items = step.foreach and step.foreach.over[value.name]
            value = items if isinstance(items, Literal) else value
        if isinstance(value, Literal):
            return "{{" in dump_json(value.value)
        if isinstance(value, ParamRef) and self.owner is not None:
            return value.name in self.encoded
        return not isinstance(value, RunRef)

    def output(self, reference: StepRef) -> Output:
        """Return the declaration of the output that a reference reads."""
        step = self.steps.get(reference.step) or self.outer[reference.step]
        return find_output(step, reference.output)

    def type_of(self, value: Value, step: Step | None = None) -> ValueType:
        """Return the type as which a value travels."""
        match value:
            case ParamRef():
                return self.params[value.name]
            case ItemRef() if step is not None and is_read_as_json(step, value.name):
                return "json"
            case OrElse() | FirstOf():
                first, *others = (self.type_of(one, step) for one in children(value))
                if is_file(first) or {*others} <= {first}:
                    return first
                return "float" if {first, *others} <= {*NUMBERS} else "json"
        steps = {**self.outer, **self.steps} if self.outer else self.steps
        kind = kind_of(value, step, steps, {})
        if isinstance(value, ItemRef) and kind == ANY:
            return "str"
        return "list" if kind.many else kind.type


def value_of(given: Input) -> Value:
    """Return the value of an input of a group, which always has one."""
    assert given.value is not None, "only processes take files from elsewhere"
    return given.value


def is_folder(given: Input) -> bool:
    """Return whether an input is the folder of the files that a foreach made."""
    return given.many and is_file(given.type)


def travels_as(given: Input) -> ValueType:
    """Return the type as which an input's value travels: a place, or a list of values."""
    return "list" if given.many and not is_file(given.type) else given.type


def is_read_as_json(step: Step, name: str) -> bool:
    """Return whether an item must be written as JSON, as an input of any JSON value reads it."""
    return any(
        given.type == "json" and isinstance(given.value, ItemRef) and given.value.name == name
        for given in step.inputs
    )


def is_stdout(step: Step, output: Output) -> bool:
    """Return whether an output is what the process prints (or a response's body)."""
    return (
        output.name == STDOUT
        and output.path is None
        and output.value is None
        and output.json_path is None
        and not is_file(output.type)
        and not isinstance(step.action, Group)
    )


def _is_safe(item: object) -> bool:
    if isinstance(item, str):
        return re.fullmatch(r"[\w .,:;/@+=-]*", item, re.ASCII) is not None
    return isinstance(item, int | float)


def is_returned(steps: Mapping[str, Step], value: StepRef) -> bool:
    """Return whether a value is what a typed function returns, also out of groups."""
    step = steps.get(value.step)
    if step is None or step.foreach is not None:
        return False
    output = find_output(step, value.output)
    if isinstance(step.action, Group):
        inside = {inner.name: inner for inner in step.action.steps}
        return isinstance(output.value, StepRef) and is_returned(inside, output.value)
    return step.is_function and not is_stdout(step, output)


def items_given(steps: Mapping[str, Step], value: StepRef) -> str | None:
    """Return what the items of a list are that functions gave, also out of groups, if known."""
    step = steps.get(value.step)
    if step is None or step.loop is not None:
        return None
    output = find_output(step, value.output)
    if output.default is not None:
        return None
    if isinstance(step.action, Group):
        inside = {inner.name: inner for inner in step.action.steps}
        if not isinstance(output.value, StepRef):
            return None
        if step.foreach is None:
            return items_given(inside, output.value)
        return output.type if is_returned(inside, output.value) else None
    if not step.is_function or is_stdout(step, output):
        return None
    return output.type if step.foreach else item_type(step, value.output)


def can_be_skipped(step: Step) -> bool:
    """Return whether a step can end as skipped by its own rules."""
    if step.when is not None:
        return True
    for entry in step.depends_on:
        options = entry.options if isinstance(entry, AnyOf) else (entry,)
        if any(isinstance(option, Dependency) and option.on == "failure" for option in options):
            return True
    return False


def may_be_unmade(producer: Step, reader: Step | None) -> bool:
    """Return whether Argo may have no text for an output with a default, when a step reads it."""
    is_group = isinstance(producer.action, Group)
    return is_group or reader is None or producer.name in told_apart(reader)


def can_be_survived(name: str, steps: Iterable[Step]) -> bool:
    """Return whether some step runs also after a step has failed."""
    return any(
        before == name and on != "success"
        for step in steps
        for before, on in explicit_dependencies(step)
    )
