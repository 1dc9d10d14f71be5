"""The log of a pipeline as a table of text."""

from __future__ import annotations

import typing as t
from collections.abc import Iterator, Sequence

from couler.optimizers.diff import Added, Change, Changed, Moved, Removed
from couler.optimizers.log import PassRecord, Size

_COLUMNS = ("pass", "seconds", "steps", "edges", "bytes")
_MOST_CHANGES = 20
"""More changes of one pass than these are counted, not listed; the JSON has all."""


def log_text(records: Sequence[PassRecord]) -> str:
    """Return a table with a line for each pass, and below it why it did what it did."""
    if not records:
        return "no passes ran"
    rows = [
        (
            record.name + _options_text(record),
            f"{record.seconds:.3f}",
            *_sizes(record.size_before, record.size_after),
        )
        for record in records
    ]
    widths = [max(map(len, column)) for column in zip(_COLUMNS, *rows, strict=True)]
    lines = [_line(_COLUMNS, widths)]
    for row, record in zip(rows, records, strict=True):
        lines.append(_line(row, widths))
        lines.extend(f"    {line}" for line in _explanation(record))
    return "\n".join(lines)


def change_text(change: Change) -> str:
    """Return a change as a line.

    Examples
    --------
    >>> change_text(Moved("fit", "train/fit", ("depends_on",)))
    '> fit is now train/fit, with another depends_on'
    """
    match change:
        case Added():
            return f"+ {change.step}"
        case Removed():
            return f"- {change.step}"
        case Changed():
            return f"~ {change.step or 'the workflow'}: {', '.join(change.fields)}"
        case Moved():
            others = f", with another {', '.join(change.fields)}" if change.fields else ""
            return f"> {change.step} is now {change.to}{others}"
    t.assert_never(change)


def growth_text(before: int, after: int) -> str:
    """Return a number, or two with an arrow between them if it changed."""
    return f"{before:,}" if before == after else f"{before:,} -> {after:,}"


def _sizes(before: Size, after: Size) -> tuple[str, str, str]:
    return (
        growth_text(before.steps, after.steps),
        growth_text(before.edges, after.edges),
        growth_text(before.size_bytes, after.size_bytes),
    )


def _line(cells: Sequence[str], widths: Sequence[int]) -> str:
    first, *others = (
        cell.ljust(width) if number == 0 else cell.rjust(width)
        for number, (cell, width) in enumerate(zip(cells, widths, strict=True))
    )
    return "  ".join((first, *others)).rstrip()


def _options_text(record: PassRecord) -> str:
    if not record.options:
        return ""
    return f"({', '.join(f'{name}={value}' for name, value in record.options.items())})"


def _explanation(record: PassRecord) -> Iterator[str]:
    if record.reason:
        yield record.reason
    changes = record.changes
    if not changes:
        yield "nothing changed"
    for change in changes[:_MOST_CHANGES]:
        yield change_text(change)
    if len(changes) > _MOST_CHANGES:
        yield f"... and {len(changes) - _MOST_CHANGES:,} more changes"
