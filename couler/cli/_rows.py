"""Rows of the tables that show a run: those that fit, as text or as a table that lives."""

from __future__ import annotations

import typing as t
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from couler.cli.format import seconds_text

COLOURS = {
    "running": "cyan",
    "retrying": "yellow",
    "suspended": "yellow",
    "succeeded": "green",
    "cached": "green",
    "reused": "green",
    "failed": "red",
    "skipped": "yellow",
    "omitted": "bright_black",
    "cancelled": "red",
    "interrupted": "red",
    "waiting": "bright_black",
}
"""Colour of each state, by names that click and rich share."""

LEGEND = "the longest path, which the run cannot end before"

_RANKS = {
    "failed": 0,
    "cancelled": 0,
    "interrupted": 0,
    "suspended": 1,
    "running": 2,
    "retrying": 2,
    "waiting": 4,
}
_RANK_OF_ENDED = 3

_STEP_WIDTH = 32
"""Of the steps' column, at least, where a path is so long."""


@dataclass(frozen=True, slots=True)
class Row:
    """A step's instance in a table."""

    label: str
    depth: int
    state: str
    elapsed_s: float | None = None
    attempt: int | None = None
    inside: int = 0
    note: str = ""
    is_critical: bool = False

    @property
    def took(self) -> str:
        """How long it has taken, in words."""
        return "" if self.elapsed_s is None else seconds_text(self.elapsed_s)

    @property
    def tries(self) -> str:
        """The number of its last attempt."""
        return "" if self.attempt is None else str(self.attempt)

    @property
    def remark(self) -> str:
        """The note, or how far it is."""
        if self.note or not self.inside:
            return " ".join(self.note.splitlines())
        return f"{self.inside} ended inside"


def choose_rows(rows: Sequence[Row], most: int) -> list[Row]:
    """Return rows that fit, in their order: what fails, waits or runs first, then what ended."""
    if len(rows) <= most:
        return list(rows)
    ranked = sorted(
        range(len(rows)),
        key=lambda index: (_RANKS.get(rows[index].state, _RANK_OF_ENDED), rows[index].depth),
    )
    return [rows[index] for index in sorted(ranked[:most])]


def left_out(rows: Sequence[Row], shown: Sequence[Row]) -> str:
    """Return in words the states of rows that are not shown."""
    left = Counter(row.state for row in rows)
    left.subtract(Counter(row.state for row in shown))
    return ", ".join(f"{count} {state}" for state, count in left.items() if count)


def mark_of(stream: t.TextIO) -> str:
    """Return what marks a step of the longest path, as the stream can show it."""
    try:
        "◆".encode(stream.encoding or "ascii")
    except (UnicodeEncodeError, LookupError):
        return "*"
    return "◆"


def live_table(
    rows: Sequence[Row],
    *,
    title: str,
    footer: str,
    height: int,
    stream: t.TextIO,
) -> t.Any:
    """Return what rich shows of a run on a terminal of so many lines."""
    from rich.console import Group
    from rich.table import Table
    from rich.text import Text

    mark = mark_of(stream)
    is_marked = any(row.is_critical for row in rows)
    around = 4 + is_marked + bool(footer)  # title, header, what is left out, the cursor's line
    shown = choose_rows(rows, max(1, height - around))
    heads = [
        (f"{mark} " if row.is_critical else "  " if is_marked else "")
        + "  " * row.depth
        + row.label
        for row in shown
    ]
    table = Table(box=None, pad_edge=False, header_style="bold")
    # The notes give way where the terminal is narrow, and then the longest paths.
    table.add_column(
        "step", no_wrap=True, min_width=min(_STEP_WIDTH, max(map(len, heads), default=0))
    )
    table.add_column(
        "state", no_wrap=True, min_width=max((len(row.state) for row in shown), default=0)
    )
    table.add_column("elapsed", no_wrap=True, justify="right", min_width=len("elapsed"))
    table.add_column("try", no_wrap=True, justify="right", min_width=len("try"))
    table.add_column("", no_wrap=True, ratio=1)
    for row, head in zip(shown, heads, strict=True):
        table.add_row(
            Text(head, style="bold" if row.is_critical else ""),
            Text(row.state, style=COLOURS.get(row.state, "")),
            row.took,
            row.tries,
            Text(row.remark, overflow="ellipsis", no_wrap=True),
        )
    lines: list[t.Any] = [_line(title, "bold"), table]
    if len(shown) < len(rows):
        lines.append(_line(f"and {left_out(rows, shown)}", "bright_black"))
    if is_marked:
        lines.append(_line(f"{mark} {LEGEND}", "bright_black"))
    if footer:
        lines.append(_line(footer, "bright_black"))
    return Group(*lines)


def _line(text: str, style: str) -> t.Any:
    from rich.text import Text

    return Text(text, style=style, overflow="ellipsis", no_wrap=True)
