"""Nodes of the IR made without checking their fields, where these are known to be right."""

from __future__ import annotations

import typing as t
from collections.abc import Mapping

from couler.ir.base import Node, freeze_json
from couler.ir.values import Field, Literal, StepRef, Value, ValueType
from couler.ir.workflow import Container, Input, Step

UNKNOWN_VALUE = Field.model_construct(of=Literal.model_construct(value=None), path=("unknown",))
"""Stands for a value that was reported as wrong: verification has nothing to say about it."""

_new = object.__new__
_set = object.__setattr__


def _blank(cls: type[Node]) -> dict[str, t.Any]:
    """Return the fields of a node in their order, with their defaults."""
    return {
        name: None if field.is_required() else field.get_default()
        for name, field in cls.model_fields.items()
    }


_CONTAINER, _INPUT, _LITERAL = _blank(Container), _blank(Input), _blank(Literal)
_REF, _STEP = _blank(StepRef), _blank(Step)

# Nobody changes the set of a frozen node, so nodes with the same fields share one.
_CONTAINER_SET = {"image", "command", "args"}
_INPUT_SET = {"name", "value", "type"}
_LITERAL_SET = {"value"}
_REF_SET = {"step", "output"}

_KNOWN_RIGHT = {"name", "action", "source", "depends_on", "inputs", "outputs", "when"}
_KNOWN_RIGHT |= {"foreach", "loop", "origin", "program_order"}
"""Fields of a step that the language makes itself."""


def _finish(node: Node, fields: dict[str, t.Any], given: set[str]) -> None:
    _set(node, "__dict__", fields)
    _set(node, "__pydantic_fields_set__", given)
    _set(node, "__pydantic_extra__", None)
    _set(node, "__pydantic_private__", None)


def make_container(image: str, command: tuple[t.Any, ...], args: tuple[t.Any, ...]) -> Container:
    """Return a container; its words are text and values."""
    fields = _CONTAINER.copy()
    fields["image"] = image
    fields["command"] = command
    fields["args"] = args
    node = _new(Container)
    _finish(node, fields, _CONTAINER_SET)
    return node


def make_plain_input(name: str, value: Value, value_type: ValueType) -> Input:
    """Return an input that is no list of files."""
    fields = _INPUT.copy()
    fields["name"] = name
    fields["value"] = value
    fields["type"] = value_type
    node = _new(Input)
    _finish(node, fields, _INPUT_SET)
    return node


def make_literal(value: object) -> Literal:
    """Return a literal; the value has a JSON form."""
    fields = _LITERAL.copy()
    fields["value"] = value if type(value) in (str, int, float, bool) else freeze_json(value)
    node = _new(Literal)
    _finish(node, fields, _LITERAL_SET)
    return node


def make_ref(step: str, output: str) -> StepRef:
    """Return a reference to an output of a step."""
    fields = _REF.copy()
    fields["step"] = step
    fields["output"] = output
    node = _new(StepRef)
    _finish(node, fields, _REF_SET)
    return node


def make_step(given: Mapping[str, t.Any]) -> Step:
    """Return a step with these fields; options beyond the usual ones are checked."""
    if not given.keys() <= _KNOWN_RIGHT:
        return Step(**given)
    fields = _STEP.copy()
    fields.update(given)
    node = _new(Step)
    _finish(node, fields, set(given))
    return node
