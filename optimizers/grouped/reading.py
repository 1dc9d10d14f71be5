"""What the steps of a group read: from outside as inputs of the group, of each other in the pod."""

from __future__ import annotations

import typing as t
from collections.abc import Collection

from couler.ir.values import (
    Field,
    FirstOf,
    Literal,
    OrElse,
    ParamRef,
    RunRef,
    StepRef,
    Template,
    Text,
    Value,
    walk,
)
from couler.ir.wire import ValueType
from couler.ir.workflow import Input
from couler.optimizers.grouped.sharing import Kinds

__all__ = ["Reading"]

Definition: t.TypeAlias = "str | dict[str, t.Any]"
"""A value as `couler.optimizers.grouped.run_values` reads it."""


class Reading:
    """Takes values of steps down, and collects the inputs that these need."""

    def __init__(self, members: Collection[str], kinds: Kinds) -> None:
        self._members = members
        self._kinds = kinds
        self._names: dict[str, str] = {}
        self.inputs: list[Input] = []

    def text(self, text: Text) -> Definition:
        """Return a text or value as the pod reads it."""
        return text if isinstance(text, str) else self.value(text)

    def file(self, given: Input) -> Definition:
        """Return where the pod finds the file of an input."""
        assert given.value is not None, "what lies outside of the workflow is refused"
        if isinstance(given.value, StepRef) and given.value.step in self._members:
            return self.value(given.value)
        return self._given(given.value, given.type, optional=given.optional, many=given.many)

    def value(self, value: Value) -> Definition:
        """Return a value as the pod reads it."""
        match value:
            case Literal():
                return {"literal": value.value}
            case StepRef() if value.step in self._members:
                return {"step": value.step, "output": value.output}
            case StepRef() | ParamRef() | RunRef():
                kind = self._kinds.of_value(value)
                return self._given(value, "list" if kind.many else kind.type)
            case Field():
                return {"field": self.value(value.of), "path": list(value.path)}
            case Template():
                return {"template": [self.text(part) for part in value.parts]}
            case OrElse() | FirstOf():
                read = {one.step for one in walk(value) if isinstance(one, StepRef)}
                if not read.issubset(self._members):
                    return self._given(value, "json")
                options = (
                    value.options if isinstance(value, FirstOf) else (value.value, value.default)
                )
                return {"first": [self.value(option) for option in options]}
        raise TypeError(f"a value of the kind {value.kind} is no part of a group")

    def _given(
        self, value: Value, kind: ValueType, *, optional: bool = False, many: bool = False
    ) -> Definition:
        key = f"{optional} {many} {kind} {value.model_dump_json()}"
        name = self._names.get(key)
        if name is None:
            name = self._names[key] = f"in_{len(self.inputs)}"
            made = Input(name=name, value=value, type=kind, optional=optional, many=many)
            self.inputs.append(made)
        return {"given": name, "type": kind}
