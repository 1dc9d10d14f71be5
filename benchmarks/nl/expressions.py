"""What steps read, resolved through the scopes around them: values without names of steps."""

from __future__ import annotations

import json
import typing as t
from collections.abc import Iterator
from dataclasses import dataclass


@dataclass(frozen=True)
class Known:
    """A value that is known when the workflow is built."""

    value: t.Any


@dataclass(frozen=True)
class Given:
    """A parameter of the workflow."""

    name: str


@dataclass(frozen=True)
class Made:
    """What a node of the flow gives out: all of it, or the part that a path leads to."""

    node: int
    path: tuple[str | int, ...] = ()


@dataclass(frozen=True)
class Part:
    """A part of a value that no step of the flow makes: of a parameter, of an item."""

    of: Expression
    path: tuple[str | int, ...]


@dataclass(frozen=True)
class Each:
    """The item that an instance of a map is for."""

    node: int
    name: str


@dataclass(frozen=True)
class Before:
    """What the round before of a loop gave; `initial` in the first round."""

    node: int
    output: str
    initial: Expression | None


@dataclass(frozen=True)
class Fact:
    """A fact of the run."""

    name: str


@dataclass(frozen=True)
class Several:
    """Several values as one: a list, a choice, a range, or a text of parts."""

    how: t.Literal["list", "first_of", "range", "text"]
    parts: tuple[Expression, ...]
    items: tuple[str, ...] = ()


Expression: t.TypeAlias = Known | Given | Made | Part | Each | Before | Fact | Several


def text_of(parts: t.Iterable[Expression]) -> Expression:
    """Return the text of parts in a row; what is known is written as it travels on the wire."""
    joined: list[Expression] = []
    for part in parts:
        inner = part.parts if isinstance(part, Several) and part.how == "text" else (part,)
        for one in inner:
            if isinstance(one, Known):
                one = Known(written(one.value))
                if joined and isinstance(joined[-1], Known):
                    one = Known(joined.pop().value + one.value)  # type: ignore[union-attr]  # Known
            joined.append(one)
    if len(joined) == 1:
        return joined[0]
    return Several("text", tuple(joined)) if joined else Known("")


def written(value: object) -> str:
    """Return a value as it travels on the wire: text as it is, everything else as JSON."""
    if isinstance(value, str):
        return value
    return json.dumps(value, separators=(",", ":"), ensure_ascii=False)


def first_of(options: t.Iterable[Expression]) -> Expression:
    """Return the first of some values that there is, which is also what a default means."""
    flat: list[Expression] = []
    for one in options:
        flat += one.parts if isinstance(one, Several) and one.how == "first_of" else (one,)
    return flat[0] if len(flat) == 1 else Several("first_of", tuple(flat))


def inside(expression: Expression) -> Iterator[Expression]:
    """Yield an expression and all inside it; what a loop begins with counts as inside."""
    yield expression
    match expression:
        case Several():
            for part in expression.parts:
                yield from inside(part)
        case Before(initial=initial) if initial is not None:
            yield from inside(initial)
        case Part(of=whole):
            yield from inside(whole)
        case _:
            return
