"""Nodes of the IR made without checking their fields, where these are known to be right."""

from __future__ import annotations

import functools
import typing as t
from collections.abc import Mapping

from couler.ir.base import Node, freeze_json
from couler.ir.values import Field, Literal, StepRef, Value, ValueType
from couler.ir.workflow import Container, Input, Step

UNKNOWN_VALUE = Field.model_construct(of=Literal.model_construct(value=None), path=("unknown",))
"""Stands for a value that was reported as wrong: verification has nothing to say about it."""

N = t.TypeVar("N", bound=Node)

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
_names = functools.cache(set[str])

_KNOWN_RIGHT = {"name", "action", "source", "depends_on", "inputs", "outputs", "when"}
_KNOWN_RIGHT |= {"foreach", "loop", "origin", "program_order"}
"""Fields of a step that the language makes itself."""


def _made(cls: type[N], blank: dict[str, t.Any], **given: t.Any) -> N:
    """Return a node with these fields and the defaults of the others."""
    node = _new(cls)
    _set(node, "__dict__", {**blank, **given})
    _set(node, "__pydantic_fields_set__", _names(tuple(given)))
    _set(node, "__pydantic_extra__", None)
    _set(node, "__pydantic_private__", None)
    return node


def make_container(image: str, command: tuple[t.Any, ...], args: tuple[t.Any, ...]) -> Container:
    """Return a container; its words are text and values."""
    return _made(Container, _CONTAINER, image=image, command=command, args=args)


def make_plain_input(name: str, value: Value, value_type: ValueType) -> Input:
    """Return an input that is no list of files."""
    return _made(Input, _INPUT, name=name, value=value, type=value_type)


def make_literal(value: object) -> Literal:
    """Return a literal; the value has a JSON form."""
    is_plain = type(value) in (str, int, float, bool)
    return _made(Literal, _LITERAL, value=value if is_plain else freeze_json(value))


def make_ref(step: str, output: str) -> StepRef:
    """Return a reference to an output of a step."""
    return _made(StepRef, _REF, step=step, output=output)


def make_step(given: Mapping[str, t.Any]) -> Step:
    """Return a step with these fields; options beyond the usual ones are checked."""
    return _made(Step, _STEP, **given) if given.keys() <= _KNOWN_RIGHT else Step(**given)
