"""Sizes, durations, times and tables, as people read them."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from datetime import UTC, datetime

import click


def bytes_text(count: int) -> str:
    """Return a size.

    Examples
    --------
    >>> bytes_text(512), bytes_text(1536), bytes_text(3 * 1024**3)
    ('512 B', '1.5 KiB', '3.0 GiB')
    """
    if count < 1024:
        return f"{count} B"
    size = count / 1024
    for unit in ("KiB", "MiB", "GiB"):
        if size < 1024:
            return f"{size:.1f} {unit}"
        size /= 1024
    return f"{size:,.1f} TiB"


def seconds_text(seconds: float) -> str:
    """Return a duration.

    Examples
    --------
    >>> seconds_text(4.25), seconds_text(125), seconds_text(7260)
    ('4.2 s', '2 min 05 s', '2 h 01 min')
    """
    if seconds < 60:
        return f"{seconds:.1f} s"
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours} h {minutes:02} min" if hours else f"{minutes} min {rest:02} s"


def minute_text(moment: datetime) -> str:
    """Return a time in UTC, to the minute."""
    return moment.astimezone(UTC).strftime("%Y-%m-%d %H:%M")


def time_text(moment: datetime) -> str:
    """Return a time in UTC as JSON has it: ISO 8601."""
    return moment.astimezone(UTC).isoformat(timespec="milliseconds")


def aligned(rows: Sequence[Sequence[str]], *, right: Collection[int] = ()) -> list[str]:
    """Return rows as lines with aligned columns; cells may be styled.

    Parameters
    ----------
    rows
        Cells, as many in each row; no cell has a line break.
    right
        Columns whose cells stand at their right.

    Examples
    --------
    >>> aligned([("step", "took"), ("a", "12 s")], right={1})
    ['step  took', 'a     12 s']
    """
    widths = [max(map(_width, column)) for column in zip(*rows, strict=True)]
    lines = []
    for row in rows:
        cells = []
        for index, (cell, width) in enumerate(zip(row, widths, strict=True)):
            fill = " " * (width - _width(cell))
            cells.append(fill + cell if index in right else cell + fill)
        lines.append("  ".join(cells).rstrip())
    return lines


def _width(cell: str) -> int:
    return len(click.unstyle(cell))
