"""The closed union of values: what an argument, an item or an output can be."""

from __future__ import annotations

import typing as t
from collections.abc import Callable, Iterator

from pydantic import Field as ModelField

from couler.ir.base import Json, Variant


class Literal(Variant):
    """A JSON value known when the workflow is built."""

    kind: t.Literal["literal"] = "literal"
    value: Json


class ParamRef(Variant):
    """A parameter of the enclosing scope: of the workflow, or an input of the enclosing group."""

    kind: t.Literal["param"] = "param"
    name: str


class StepRef(Variant):
    """An output of a step in the same scope.

    Scopes are closed, so a reference never reaches into a group or out of it: a group takes
    values in through its inputs and gives values out through its outputs. If the step has a
    `foreach`, the value is the list of the items' outputs, in item order.
    """

    kind: t.Literal["step"] = "step"
    step: str
    output: str = "result"


class ItemRef(Variant):
    """The current item of the step's own `foreach`, by the name that the foreach gives it."""

    kind: t.Literal["item"] = "item"
    name: str = "item"


class RoundRef(Variant):
    """An output of the previous round of the step's own `loop`.

    In the loop's condition it is the round that has just ended. In the first round the value
    is `initial`.
    """

    kind: t.Literal["round"] = "round"
    output: str = "result"
    initial: Value | None = None


class RunRef(Variant):
    """A fact of the run: its id, its logical date (ISO 8601) or, in exit handlers, its status."""

    kind: t.Literal["run"] = "run"
    field: t.Literal["id", "logical_date", "status"]


class OwnRef(Variant):
    """A fact of what the value belongs to: a step in its own metrics and hooks, or the run.

    In the metrics and hooks of a workflow it is one of the run, in the condition on which an HTTP
    request succeeds one of the response. `name` is that of an output or of a header.
    """

    kind: t.Literal["own"] = "own"
    fact: t.Literal["status", "duration_s", "exit_code", "output", "status_code", "header"]
    name: str | None = None


class Field(Variant):
    """A part of a JSON value, by keys and indexes."""

    kind: t.Literal["field"] = "field"
    of: Value
    path: tuple[str | int, ...]


class OrElse(Variant):
    """A value, or a default where the step that makes it was skipped or gave none."""

    kind: t.Literal["or_else"] = "or_else"
    value: Value
    default: Value


class FirstOf(Variant):
    """The first of several values whose step ran: the merge of `when` and `otherwise`."""

    kind: t.Literal["first_of"] = "first_of"
    options: tuple[Value, ...]


class Range(Variant):
    """A list of whole numbers in a row, which is not written out.

    It has `count` numbers from `start` on, none if `count` is below 1; or those from `start` to
    `end`, both of them included, downwards if `end` is before `start`.
    """

    kind: t.Literal["range"] = "range"
    start: Value = Literal.model_construct(value=0)
    count: Value | None = None
    end: Value | None = None
    format: str | None = None
    """Makes texts of the numbers: any text with one `%d` in it, or `%03d`, filled up with zeros."""


class Template(Variant):
    """Text with values in it; each value is written as it travels on the wire."""

    kind: t.Literal["template"] = "template"
    parts: tuple[str | Value, ...]


Value = t.Annotated[
    Literal
    | ParamRef
    | StepRef
    | ItemRef
    | RoundRef
    | RunRef
    | OwnRef
    | Field
    | OrElse
    | FirstOf
    | Range
    | Template,
    ModelField(discriminator="kind"),
]

Text: t.TypeAlias = str | Value
"""Text that reaches a process: a plain string, or a value written as on the wire."""


_LEAVES = frozenset((Literal, ParamRef, StepRef, ItemRef, RunRef, OwnRef))


def children(value: Value) -> tuple[Value, ...]:
    """Return the values directly inside a value."""
    if type(value) in _LEAVES:  # most are: an isinstance that says no takes longer
        return ()
    match value:
        case Literal() | ParamRef() | StepRef() | ItemRef() | RunRef() | OwnRef():
            return ()
        case RoundRef():
            return () if value.initial is None else (value.initial,)
        case Field():
            return (value.of,)
        case OrElse():
            return (value.value, value.default)
        case FirstOf():
            return value.options
        case Range():
            return tuple(end for end in (value.start, value.count, value.end) if end is not None)
        case Template():
            return tuple(part for part in value.parts if not isinstance(part, str))
    t.assert_never(value)


def map_children(value: Value, change: Callable[[Value], Value]) -> Value:
    """Return a value with the values directly inside it replaced; one without any is returned."""
    if type(value) in _LEAVES:
        return value
    match value:
        case RoundRef():
            if value.initial is None:
                return value
            return value.model_copy(update={"initial": change(value.initial)})
        case Field():
            return value.model_copy(update={"of": change(value.of)})
        case OrElse():
            update = {"value": change(value.value), "default": change(value.default)}
            return value.model_copy(update=update)
        case FirstOf():
            return value.model_copy(update={"options": tuple(map(change, value.options))})
        case Range():
            ends = {name: getattr(value, name) for name in ("start", "count", "end")}
            changed = {name: change(end) for name, end in ends.items() if end is not None}
            return value.model_copy(update=changed)
        case Template():
            parts = tuple(part if isinstance(part, str) else change(part) for part in value.parts)
            return value.model_copy(update={"parts": parts})
        case Literal() | ParamRef() | StepRef() | ItemRef() | RunRef() | OwnRef():
            return value
    t.assert_never(value)


def walk(value: Text | None) -> Iterator[Value]:
    """Yield a value and every value inside it, outermost first; nothing for plain text."""
    if value is None or isinstance(value, str):
        return
    yield value
    for child in children(value):
        yield from walk(child)
