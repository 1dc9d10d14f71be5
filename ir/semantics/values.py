"""Evaluation of values and conditions in a run (docs/semantics.md, sections 6, 7 and 9)."""

from __future__ import annotations

import typing as t
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from couler.errors import ConditionError, EvaluationError, MissingOutputError, WireError
from couler.ir.base import Json, freeze_json
from couler.ir.policies import Foreach
from couler.ir.ranges import is_known, range_items
from couler.ir.semantics import wire
from couler.ir.semantics.comparisons import compare
from couler.ir.values import (
    MAX_ITEMS,
    MAX_LIST_BYTES,
    And,
    Compare,
    Condition,
    Field,
    FirstOf,
    ItemRef,
    Literal,
    Not,
    Or,
    OrElse,
    OwnRef,
    ParamRef,
    Range,
    RoundRef,
    RunRef,
    StepRef,
    Template,
    Text,
    Value,
    ValueType,
    check_size,
    children,
)
from couler.ir.workflow import Input

VALUE_ERRORS = (ConditionError, EvaluationError, RecursionError, WireError, UnicodeEncodeError)
"""What evaluating a value or a condition can raise; it fails the step that reads.

JSON can name half a character (`"\\ud800"`), which no text on the wire can hold.
"""


class Single(t.NamedTuple):
    """One value: the text that travels, and the type that its producer declared.

    The text of type `json` is always JSON, so text stands in quotes there.
    """

    text: str
    type: ValueType


class Gathered(t.NamedTuple):
    """The values that the items of a foreach gave, in item order; None for a failed item."""

    items: tuple[Single | None, ...]


Stored: t.TypeAlias = Single | Gathered
Outputs: t.TypeAlias = Mapping[str, Stored]


@dataclass(frozen=True, slots=True)
class RunFacts:
    """What `RunRef` reads."""

    id: str
    logical_date: str
    status: t.Literal["succeeded", "failed"] | None = None
    """Known to exit handlers only."""


@dataclass(frozen=True, slots=True)
class View:
    """What a step can read."""

    run: RunFacts
    parameters: Mapping[str, Stored] = field(default_factory=dict)
    steps: Mapping[str, Outputs] = field(default_factory=dict)
    items: Mapping[str, Stored] = field(default_factory=dict)
    round: Outputs | None = None
    own: Mapping[tuple[str, str | None], Stored] = field(default_factory=dict)


def resolve(value: Value, view: View) -> Stored:
    """Return what a value is in a run."""
    match value:
        case Literal():
            return from_json(value.value)
        case ParamRef():
            return view.parameters[value.name]
        case StepRef():
            return _output(view.steps.get(value.step, {}), value.step, value.output)
        case ItemRef():
            return view.items[value.name]
        case RoundRef():
            return _previous_round(value, view)
        case RunRef():
            return _fact(value, view.run)
        case OwnRef():
            return _own(value, view.own)
        case Field():
            return Single(wire.part(_read(resolve(value.of, view)), *value.path), "json")
        case OrElse() | FirstOf():
            return _first_readable(children(value), view)
        case Range():
            return from_json(tuple(range_items(value, lambda end: to_json(resolve(end, view)))))
        case Template():
            return Single("".join(resolve_text(part, view) for part in value.parts), "str")
    t.assert_never(value)


def resolve_text(text: Text, view: View) -> str:
    """Return the text that reaches a process for a text or a value of the IR."""
    return text if isinstance(text, str) else to_text(resolve(text, view))


def holds(condition: Condition, view: View) -> bool:
    """Return whether a condition holds on what a step can read."""
    return evaluate(condition, lambda value: to_json(resolve(value, view)))


def evaluate(condition: Condition, resolve: Callable[[Value], object]) -> bool:
    """Return whether a condition holds."""
    match condition:
        case Compare():
            return compare(resolve(condition.left), condition.op, resolve(condition.right))
        case And():
            return all(evaluate(item, resolve) for item in condition.items)
        case Or():
            return any(evaluate(item, resolve) for item in condition.items)
        case Not():
            return not evaluate(condition.item, resolve)
    t.assert_never(condition)


def bind_input(given: Input, view: View) -> Stored:
    """Return the value of a declared input as its step reads it."""
    assert given.value is not None, "what lies outside is fetched, not evaluated"
    stored = resolve(given.value, view)
    if not given.many:
        return as_type(stored, given.type)
    null = None if given.type == "json" else Single("null", "json")
    return Gathered(
        tuple(
            None if item in (None, null) else as_type(item, given.type) for item in elements(stored)
        )
    )


def elements(stored: Stored) -> tuple[Single | None, ...]:
    """Return the elements of a list; text is read as JSON first."""
    if isinstance(stored, Gathered):
        return stored.items
    return tuple(Single(text, "json") for text in wire.elements(_read(stored)))


def _read(stored: Stored) -> str:
    """Return the text of a value that is read by its type."""
    if isinstance(stored, Single):
        wire.decode(stored.text, stored.type)
    return to_text(stored)


def from_json(value: Json) -> Single:
    """Return a JSON value as it travels without a declared type: text as it is, else as JSON."""
    return Single(wire.encode(value), "str" if isinstance(value, str) else "json")


def to_json(stored: Stored) -> Json:
    """Return a stored value as JSON."""
    if isinstance(stored, Gathered):
        return tuple(None if item is None else to_json(item) for item in stored.items)
    return freeze_json(wire.decode(stored.text, stored.type))


def to_text(stored: Stored) -> str:
    """Return the text that a process sees of a stored value."""
    if isinstance(stored, Gathered):
        texts = ("null" if it is None else wire.as_json(it.text, it.type) for it in stored.items)
        return f"[{','.join(texts)}]"
    return wire.to_text(stored.text, stored.type)


def as_type(stored: Stored, value_type: ValueType) -> Single:
    """Return a stored value as one of another declared type."""
    if isinstance(stored, Gathered):
        return Single(to_text(stored), value_type)
    return Single(wire.as_type(stored.text, stored.type, value_type), value_type)


def _output(outputs: Outputs, step: str, name: str) -> Stored:
    if name not in outputs:
        raise MissingOutputError(
            f'the output "{name}" of "{step}" cannot be read: '
            "the step was skipped or omitted, or it failed"
        )
    return outputs[name]


def _previous_round(value: RoundRef, view: View) -> Stored:
    if view.round is not None:
        return _output(view.round, "the previous round", value.output)
    if value.initial is None:
        raise MissingOutputError(f'the first round has no earlier "{value.output}"')
    return resolve(value.initial, view)


def _fact(value: RunRef, run: RunFacts) -> Single:
    match value.field:
        case "id":
            return Single(run.id, "str")
        case "logical_date":
            return Single(run.logical_date, "str")
        case "status":
            if run.status is None:
                raise EvaluationError("the status of the run is known to exit handlers only")
            return Single(run.status, "str")
    t.assert_never(value.field)


def _own(value: OwnRef, facts: Mapping[tuple[str, str | None], Stored]) -> Stored:
    name = value.name.lower() if value.fact == "header" and value.name else value.name
    known = facts.get((value.fact, name))
    if known is None and value.fact == "header":
        return Single("", "str")
    if known is None:
        raise EvaluationError(f"the fact {value.fact!r} is not known here")
    return known


def _first_readable(options: tuple[Value, ...], view: View) -> Stored:
    reasons = []
    for option in options:
        try:
            return resolve(option, view)
        except MissingOutputError as error:
            reasons.append(str(error))
    raise MissingOutputError("; ".join(reasons) or "there is no value to choose from")


def foreach_items(foreach: Foreach, view: View) -> tuple[Mapping[str, Stored], ...]:
    """Return for each instance of a foreach its items by name."""
    lists = {name: elements(resolve(over, view)) for name, over in foreach.over.items()}
    lengths = {name: len(items) for name, items in lists.items()}
    if len(set(lengths.values())) > 1:
        told = ", ".join(f"{name} has {length}" for name, length in lengths.items())
        raise EvaluationError(f"the lists of a foreach must be of equal length, but {told}")
    count = next(iter(lengths.values()))
    if count > MAX_ITEMS and not all(map(is_known, foreach.over.values())):
        raise EvaluationError(
            f"the foreach has {count:,} items; at most {MAX_ITEMS:,} of a list that is known "
            "only when the workflow runs. Put several into one item"
        )
    null = from_json(None)
    return tuple(
        {name: items[index] or null for name, items in lists.items()} for index in range(count)
    )


def gather(names: Iterable[str], items: Sequence[Outputs | None]) -> Outputs:
    """Return the outputs of a foreach: for each output the list of what the items gave."""
    gathered = {name: gather_one(name, items) for name in names}
    for name, values in gathered.items():
        check_size(_list_text(values), MAX_LIST_BYTES, f'the gathered list "{name}"')
    return gathered


def gather_one(name: str, items: Sequence[Outputs | None]) -> Gathered:
    """Return the list of what the items gave as one output, however large it is."""
    # An optional file need not be there.
    return Gathered(
        tuple(
            None if item is None or name not in item else t.cast("Single", item[name])
            for item in items
        )
    )


def _list_text(values: Gathered) -> str:
    """Return the list as it travels, without decoding what may be of the wrong type."""
    texts = ("null" if item is None else as_type(item, "json").text for item in values.items)
    return f"[{','.join(texts)}]"


def write_outputs(outputs: Outputs) -> dict[str, Json]:
    """Return outputs as the database holds them."""
    return {
        name: [item and item._asdict() for item in stored.items]
        if isinstance(stored, Gathered)
        else stored._asdict()
        for name, stored in outputs.items()
    }


def read_outputs(tree: Mapping[str, Json]) -> Outputs:
    """Return outputs from what the database holds."""
    return {
        name: Gathered(tuple(None if item is None else _read_item(item) for item in stored))
        if isinstance(stored, list)
        else _read_item(stored)
        for name, stored in tree.items()
    }


def _read_item(item: Json) -> Single:
    match item:
        case {"text": str(text), "type": str(value_type)} if value_type in _TYPES:
            return Single(text, t.cast("ValueType", value_type))
    raise ValueError(f"no output of a step: {item!r:.100}")


_TYPES = t.get_args(ValueType)


def singles(outputs: Outputs) -> Iterator[Single]:
    """Yield every single value among outputs; what a failed item did not give is left out."""
    for stored in outputs.values():
        for item in stored.items if isinstance(stored, Gathered) else (stored,):
            if item is not None:
                yield item
