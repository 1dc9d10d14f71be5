"""What a run shows while it goes on: a table that lives on a terminal, else a line an event."""

from __future__ import annotations

import sys
import time
import typing as t
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from couler.cli._session import Session
from couler.ir.workflow import Workflow
from couler.stages import RunEvent

COLOURS = {
    "running": "cyan",
    "retrying": "yellow",
    "suspended": "yellow",
    "succeeded": "green",
    "cached": "green",
    "failed": "red",
    "skipped": "yellow",
    "omitted": "bright_black",
    "cancelled": "red",
    "waiting": "bright_black",
}
"""Colour of each state, by names that click and rich share."""

_ROWS_KEPT_FREE = 5


@contextmanager
def show_progress(session: Session, workflow: Workflow) -> Iterator[t.Callable[[RunEvent], None]]:
    """Give what is to be told of a run's events, and show them on standard error."""
    if session.quiet:
        yield lambda event: None
    elif sys.stderr.isatty() and session.environment.get("TERM") != "dumb":
        table = _Table(workflow)
        with table.live(session):
            yield table.tell
    else:
        yield _Lines(session).tell


class _Lines:
    """A line for each event."""

    def __init__(self, session: Session) -> None:
        self._session = session
        self._started: dict[str, float] = {}

    def tell(self, event: RunEvent) -> None:
        path = str(event.path)
        if event.kind in ("retrying", "suspended"):
            said = f"{event.kind:9}  {path}"
            self._session.info(f"{said}  {event.message}" if event.message else said)
            return
        if event.kind == "started":
            self._started[path] = time.monotonic()
            self._session.info(f"{'started':9}  {path}")
            return
        state = "reused" if event.kind == "reused" else event.status or ""
        parts = [f"{state:9}", path]
        if path in self._started:
            parts.append(f"{time.monotonic() - self._started.pop(path):.2f} s")
        if event.message:
            parts.append(event.message)
        self._session.info("  ".join(parts))


@dataclass(slots=True)
class _Row:
    """A step of the workflow's own scope, or an exit handler."""

    name: str
    state: str = "waiting"
    started: float | None = None
    ended: float | None = None
    inside: int = 0
    """How many items, rounds or inner steps have ended."""
    message: str = ""


class _Table:
    """A table with a row for each step of the workflow's own scope and each exit handler."""

    def __init__(self, workflow: Workflow) -> None:
        names = [step.name for step in workflow.steps]
        names += [f"exit:{handler.name}" for handler in workflow.exit_handlers]
        self._rows = {name: _Row(name) for name in names}

    def tell(self, event: RunEvent) -> None:
        head = event.path[0]
        row = self._rows.setdefault(head.name, _Row(head.name))
        now = time.monotonic()
        is_whole = len(event.path) == 1 and head.item is None and head.round is None
        if not is_whole:
            row.inside += event.kind in ("finished", "reused")
        elif event.kind in ("retrying", "suspended"):
            row.state, row.message = event.kind, event.message or ""
        elif event.kind == "started":
            row.state, row.started = "running", now
        else:
            row.state, row.ended = event.status or "", now
            row.message = event.message or ""

    @contextmanager
    def live(self, session: Session) -> Iterator[None]:
        from rich.console import Console
        from rich.live import Live

        console = Console(stderr=True, no_color=not session.has_colour(sys.stderr))
        with Live(
            console=console,
            get_renderable=lambda: self.render(console.height),
            refresh_per_second=8,
            redirect_stdout=False,
            redirect_stderr=False,
        ):
            yield

    def render(self, height: int) -> t.Any:
        """Return the table for a terminal of so many lines."""
        from rich.table import Table
        from rich.text import Text

        table = Table(box=None, pad_edge=False, header_style="bold")
        for title in ("step", "state", "seconds", "inside", ""):
            table.add_column(title, justify="right" if title in ("seconds", "inside") else "left")
        shown = self._choose(max(4, height - _ROWS_KEPT_FREE))
        for row in shown:
            table.add_row(
                Text(row.name),
                Text(row.state, style=COLOURS.get(row.state, "")),
                _seconds(row),
                str(row.inside or ""),
                Text(row.message, overflow="ellipsis", no_wrap=True),
            )
        if len(shown) < len(self._rows):
            left = Counter(row.state for row in self._rows.values() if row not in shown)
            told = ", ".join(f"{count} {state}" for state, count in left.items())
            table.add_row(Text(f"and {told}", style="bright_black"))
        return table

    def _choose(self, most: int) -> list[_Row]:
        """Return the rows that fit: what fails or runs first, then what ended last."""
        rows = list(self._rows.values())
        if len(rows) <= most:
            return rows
        rank = {"failed": 0, "running": 1, "waiting": 3}
        first = sorted(rows, key=lambda row: (rank.get(row.state, 2), -(row.ended or 0.0)))[:most]
        return [row for row in rows if any(row is one for one in first)]


def _seconds(row: _Row) -> str:
    if row.started is None:
        return ""
    return f"{(row.ended or time.monotonic()) - row.started:.1f}"
