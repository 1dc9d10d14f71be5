"""Ranges: as `withSequence` where a foreach goes over one, and as expressions elsewhere."""

from __future__ import annotations

import typing as t
from collections.abc import Callable

from couler.backends.argo.expressions import quote, tag
from couler.backends.argo.pods import Tree
from couler.ir.ranges import is_known, read_format
from couler.ir.values import Literal, Range, Value
from couler.ir.wire import MAX_ITEMS

_TOO_MANY = f"a range has at most {MAX_ITEMS:,} numbers where its ends are known only in the run"

Say: t.TypeAlias = Callable[[Value], str]
"""Returns the text of a value, or an expression for it."""


def sequence(value: Range, text: Say, expression: Say) -> Tree:
    """Return the field `withSequence` of a task."""
    tree: Tree = {}
    start = text(value.start)
    if start != "0":
        tree["start"] = start
    if value.count is not None:
        count = _integer(value.count, expression)
        tree["count"] = (
            str(max(int(text(value.count)), 0))
            if isinstance(value.count, Literal)
            else tag(f"{count} > {MAX_ITEMS} ? {quote(_TOO_MANY)} : string(max({count}, 0))")
        )
    elif is_known(value):
        tree["end"] = text(_end(value))
    else:
        first, last = _integer(value.start, expression), _integer(_end(value), expression)
        distance = f"abs({last} - {first})"
        tree["end"] = tag(f"{distance} < {MAX_ITEMS} ? string({last}) : {quote(_TOO_MANY)}")
    if value.format is not None:
        tree["format"] = value.format
    return tree


def range_text(value: Range, expression: Say) -> str:
    """Return an expression for the JSON of a range; one that has too many numbers fails."""
    first = _integer(value.start, expression)
    if value.count is not None:
        count = _integer(value.count, expression)
        numbers = f"{first}..({first} + {count} - 1)"
    else:
        last = _integer(_end(value), expression)
        count = f"abs({last} - {first}) + 1"
        numbers = f"({first} <= {last} ? {first}..{last} : map(0..({first} - {last}), {first} - #))"
    if value.format is not None:
        numbers = f"map({numbers}, {_formatted(value.format)})"
    text = f"toJson({numbers})"
    if is_known(value):
        return text
    # What is no JSON ends the expression, and with it the step.
    return f"({count} > {MAX_ITEMS} ? fromJSON({quote(_TOO_MANY)}) : {text})"


def _integer(value: Value, expression: Say) -> str:
    if isinstance(value, Literal):
        return f"({int(t.cast('t.Any', value.value))})"
    return f"int({expression(value)})"


def _end(value: Range) -> Value:
    assert value.end is not None, "a range has a count or an end"
    return value.end


def _formatted(text: str) -> str:
    """An expression for the text that a format makes of the number `#`."""
    form = read_format(text)
    assert form is not None, "verification refuses what is no format"
    number = "string(#)"
    if form.zeros:
        missing = f"max(0, {form.width} - len(string(abs(#))) - (# < 0 ? 1 : 0))"
        number = f"(# < 0 ? '-' : '') + repeat('0', {missing}) + string(abs(#))"
    elif form.width:
        number = f"repeat(' ', max(0, {form.width} - len(string(#)))) + string(#)"
    return f"{quote(form.before)} + {number} + {quote(form.behind)}"
