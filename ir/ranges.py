"""Whole numbers in a row, as `Range` states them: which they are, and how they are written."""

from __future__ import annotations

import re
import typing as t
from collections.abc import Callable, Sequence
from typing import Any

from couler.errors import EvaluationError
from couler.ir.values import MAX_ITEMS, Literal, Range, Value, children

MAX_KNOWN = 1_000_000
"""Most numbers of a range whose ends are known beforehand."""

_FORMAT = re.compile(r"([^%\"\\{}\x00-\x1f]*)%(0?)([1-9][0-9]?)?d([^%\"\\{}\x00-\x1f]*)")


class Form(t.NamedTuple):
    """What a format says: text before the number, its width with zeros or blanks, text behind."""

    before: str
    zeros: bool
    width: int
    behind: str


def read_format(text: str) -> Form | None:
    """Return what a format says, or None if it is none."""
    found = _FORMAT.fullmatch(text)
    if found is None:
        return None
    before, zero, width, behind = found.groups()
    if zero and not width:
        return None
    return Form(before, bool(zero), int(width or 0), behind)


def is_known(value: Value) -> bool:
    """Return whether a list is known beforehand: a literal, or a range between literals."""
    if isinstance(value, Literal):
        return True
    return isinstance(value, Range) and all(isinstance(end, Literal) for end in children(value))


def known_items(value: Value) -> Sequence[Any] | None:
    """Return the items of a list that is known beforehand; None for every other value."""
    if isinstance(value, Literal):
        return value.value if isinstance(value.value, tuple) else None
    if not isinstance(value, Range) or not is_known(value):
        return None
    try:
        return range_items(value, lambda end: t.cast("Literal", end).value)
    except EvaluationError:
        return None


def range_items(value: Range, resolve: Callable[[Value], object]) -> Sequence[Any]:
    """Return the items of a range."""
    if value.format is not None and read_format(value.format) is None:
        raise EvaluationError(f"{value.format!r} is no format of a range")
    ends = (None if end is None else resolve(end) for end in (value.start, value.count, value.end))
    numbers = whole_numbers(*ends)
    limit = MAX_KNOWN if is_known(value) else MAX_ITEMS
    if _length(numbers) > limit:
        raise EvaluationError(
            f"a range has {_length(numbers):,} numbers; at most {limit:,} of one whose ends are "
            f"known {'beforehand' if is_known(value) else 'only when the workflow runs'}"
        )
    return numbers if value.format is None else [value.format % number for number in numbers]


def whole_numbers(start: Any, count: Any = None, end: Any = None) -> range:
    """Return whole numbers in a row: so many, or up to an end."""
    first = whole(start)
    if end is None:
        return range(first, first + max(whole(count), 0))
    last = whole(end)
    return range(first, last + 1) if first <= last else range(first, last - 1, -1)


def whole(value: Any) -> int:
    """Return a whole number, or the one that a text is."""
    if isinstance(value, int) and not isinstance(value, bool):
        return value
    if not isinstance(value, str) or not re.fullmatch("[+-]?[0-9]{1,18}", value):
        raise EvaluationError(f"an end of a range is no whole number: {value!r:.60}")
    return int(value)


def _length(numbers: range) -> int:
    """The number of numbers, which `len` refuses to tell of very many."""
    return max((numbers.stop - numbers.start) * numbers.step, 0)
