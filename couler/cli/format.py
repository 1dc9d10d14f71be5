"""Sizes, durations, times and tables, as people read them, and JSON."""

from __future__ import annotations

import json
from collections.abc import Collection, Sequence
from datetime import UTC, datetime

import click


def bytes_text(count: int) -> str:
    """Return a size."""
    if count < 1024:
        return f"{count} B"
    size = count / 1024
    for unit in ("KiB", "MiB", "GiB"):
        if size < 1024:
            return f"{size:.1f} {unit}"
        size /= 1024
    return f"{size:,.1f} TiB"


def seconds_text(seconds: float) -> str:
    """Return a duration."""
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
    """Return rows as lines with aligned columns; cells may be styled."""
    widths = [max(map(_width, column)) for column in zip(*rows, strict=True)]
    lines = []
    for row in rows:
        cells = []
        for index, (cell, width) in enumerate(zip(row, widths, strict=True)):
            fill = " " * (width - _width(cell))
            cells.append(fill + cell if index in right else cell + fill)
        lines.append("  ".join(cells).rstrip())
    return lines


def echo_json(tree: object) -> None:
    """Print a report as indented JSON."""
    click.echo(json.dumps(tree, ensure_ascii=False, indent=2))


def _width(cell: str) -> int:
    return len(click.unstyle(cell))
