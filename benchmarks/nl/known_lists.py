"""Lists and parts of values, as far as they are known before a run."""

from __future__ import annotations

import json
import typing as t
from collections.abc import Mapping
from dataclasses import replace

from benchmarks.nl.expressions import Expression, Known, Made, Part, Several, written
from couler.ir.values import Range, Value

UNROLLED_ITEMS = 20
"""A map over at most so many known items is the same as that many steps."""


def rows_of(over: Mapping[str, Expression]) -> list[dict[str, Expression]] | None:
    """Return the items of lists that are known and short, each by the names of the lists."""
    columns: dict[str, tuple[Expression, ...]] = {}
    for name, items in over.items():
        match items:
            case Several(how="list"):
                columns[name] = items.parts
            case Known(value=tuple() | list() as values):
                columns[name] = tuple(Known(value) for value in values)
            case _:
                return None
    lengths = {len(items) for items in columns.values()}
    if len(lengths) != 1 or not 0 < next(iter(lengths)) <= UNROLLED_ITEMS:
        return None
    count = lengths.pop()
    return [{name: items[row] for name, items in columns.items()} for row in range(count)]


def items_of(rows: list[dict[str, Expression]]) -> tuple[str, ...]:
    """Return a text for each row of items, nothing if some are not known."""
    texts = []
    for row in rows:
        known = [item.value for item in row.values() if isinstance(item, Known)]
        if len(known) < len(row):
            return ()
        texts.append(json.dumps(sorted(map(written, known))))
    return tuple(texts)


def part_of(whole: Expression, path: tuple[str | int, ...]) -> Expression:
    """Return a part of a value."""
    for key in path:
        if isinstance(whole, Several) and whole.how == "list" and isinstance(key, int):
            if -len(whole.parts) <= key < len(whole.parts):
                whole = whole.parts[key]
        elif isinstance(whole, Known):
            try:
                whole = Known(whole.value[key])
            except (LookupError, TypeError):
                return Known(None)
        elif isinstance(whole, Several) and whole.how == "first_of":
            whole = replace(whole, parts=tuple(part_of(one, (key,)) for one in whole.parts))
        elif isinstance(whole, Made):
            whole = Made(whole.node, (*whole.path, key))
        elif isinstance(whole, Part):
            whole = Part(whole.of, (*whole.path, key))
        else:
            whole = Part(whole, (key,))
    return whole


def range_of(value: Range, resolve: t.Callable[[Value], Expression]) -> Expression:
    """Return a row of numbers, written out where it is known and short."""
    ends = [None if end is None else resolve(end) for end in (value.start, value.count, value.end)]
    start, count, end = (one.value if isinstance(one, Known) else None for one in ends)
    row: range | None = None
    if isinstance(start, int) and isinstance(count, int):
        row = range(start, start + max(count, 0))
    elif isinstance(start, int) and isinstance(end, int):
        row = range(start, end + 1) if end >= start else range(start, end - 1, -1)
    if row is not None and len(row) <= UNROLLED_ITEMS:
        return Known(tuple(value.format % n if value.format else n for n in row))
    parts = tuple(Known(None) if one is None else one for one in ends)
    return Several("range", (*parts, Known(value.format)))
