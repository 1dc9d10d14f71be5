"""What steps read, resolved through the scopes around them: values without names of steps."""

from __future__ import annotations

import json
import typing as t
from collections.abc import Iterator
from dataclasses import dataclass

from couler.ir.values import And, Compare, Condition, Not, Or, Value


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


@dataclass(frozen=True)
class Comparison:
    """Two values compared; what is known stands on the right, and `>` is written as `<`."""

    op: str
    left: Expression
    right: Expression


@dataclass(frozen=True)
class Junction:
    """Conditions joined by `and` or `or`, in no order; flat, each once."""

    how: t.Literal["and", "or"]
    parts: tuple[Test, ...]


Test: t.TypeAlias = Comparison | Junction

_OPPOSITE = {"==": "!=", "!=": "==", "<": ">=", ">=": "<", ">": "<=", "<=": ">"}
_TURNED = {"==": "==", "!=": "!=", "<": ">", ">": "<", "<=": ">=", ">=": "<="}


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


def as_test(
    condition: Condition, resolve: t.Callable[[Value], Expression], holds: bool = True
) -> Test:
    """Return a condition in a form that is the same for ways of writing it that mean the same."""
    match condition:
        case Not():
            return as_test(condition.item, resolve, not holds)
        case And() | Or():
            is_and = isinstance(condition, And) == holds
            return joined(
                "and" if is_and else "or", [as_test(c, resolve, holds) for c in condition.items]
            )
        case Compare():
            op = condition.op if holds else _OPPOSITE[condition.op]
            return _compared(op, resolve(condition.left), resolve(condition.right))
    t.assert_never(condition)


def joined(how: t.Literal["and", "or"], parts: t.Iterable[Test]) -> Test:
    """Return conditions joined, flat and each once."""
    flat: list[Test] = []
    for part in parts:
        flat += part.parts if isinstance(part, Junction) and part.how == how else (part,)
    once = tuple(dict.fromkeys(flat))
    return once[0] if len(once) == 1 else Junction(how, once)


def first_of(options: t.Iterable[Expression]) -> Expression:
    """Return the first of some values that there is, which is also what a default means."""
    flat: list[Expression] = []
    for one in options:
        flat += one.parts if isinstance(one, Several) and one.how == "first_of" else (one,)
    return flat[0] if len(flat) == 1 else Several("first_of", tuple(flat))


def is_opposite(one: Test | None, other: Test | None) -> bool:
    """Return whether two conditions cannot both hold, as far as their forms tell."""
    if one is None or other is None:
        return False
    mine, theirs = {one, *_parts(one)}, {other, *_parts(other)}
    return any(_denied(test) in theirs for test in mine) or any(
        _denied(test) in mine for test in theirs
    )


def holds_with(test: Test | None, other: Test | None) -> bool:
    """Return whether a condition holds whenever another does, as far as their forms tell."""
    return test is None or test == other or set(_parts(test)) <= set(_parts(other))


def _parts(test: Test | None) -> tuple[Test, ...]:
    """Return the conditions all of which hold if one does."""
    if test is None:
        return ()
    return test.parts if isinstance(test, Junction) and test.how == "and" else (test,)


def _denied(test: Test) -> Test:
    if isinstance(test, Comparison):
        return _compared(_OPPOSITE[test.op], test.left, test.right)
    return joined("or" if test.how == "and" else "and", map(_denied, test.parts))


def _compared(op: str, left: Expression, right: Expression) -> Comparison:
    if isinstance(left, Known) and not isinstance(right, Known):
        op, left, right = _TURNED[op], right, left
    if isinstance(right, Known) and isinstance(right.value, bool) and op in ("==", "!="):
        op, right = "==", Known(right.value is (op == "=="))  # `!= true` is `== false`
    if not isinstance(right, Known) and op in (">", ">="):
        op, left, right = _TURNED[op], right, left
    return Comparison(op, left, right)


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


def compared(test: Test) -> Iterator[Expression]:
    """Yield what a condition compares."""
    if isinstance(test, Comparison):
        yield test.left
        yield test.right
        return
    for part in test.parts:
        yield from compared(part)
