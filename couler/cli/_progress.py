"""What a run shows while it goes on: a table that lives on a terminal, else a line an event."""

from __future__ import annotations

import sys
import time
import typing as t
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from couler.cli._again import Again
from couler.cli._rows import Row, live_table
from couler.cli._snapshot import critical_steps, depth_of
from couler.cli.format import seconds_text
from couler.cli.session import Session
from couler.ir.semantics.status import FAILED
from couler.ir.source_map import NO_CHANGE, SourceMap
from couler.ir.walk import HANDLER_PREFIX, PathPart, StepPath, steps_by_path
from couler.ir.wording import counted
from couler.ir.workflow import Suspend, Workflow
from couler.rest import listening
from couler.stages import RunEvent

Tell: t.TypeAlias = Callable[[RunEvent], None]

_OPEN = ("running", "retrying", "suspended")


def is_live(session: Session) -> bool:
    """Return whether a table lives on standard error."""
    is_terminal = sys.stderr.isatty() and session.environment.get("TERM") != "dumb"
    return is_terminal and not session.quiet


@contextmanager
def show_progress(
    session: Session, workflow: Workflow, again: Again, source_map: SourceMap
) -> Iterator[Tell]:
    """Give what is to be told of a run's events, and show them on standard error."""
    if session.quiet:
        yield lambda event: None
    elif is_live(session):
        board = Board(workflow, again, source_map)
        with _live(session, board), listening(board.hear):
            yield board.tell
    else:
        yield _Lines(Questions(workflow, again), source_map).tell


class _Lines:
    """A line for each event, after one with the name of the run."""

    def __init__(self, questions: Questions, source_map: SourceMap) -> None:
        self._questions = questions
        self._source_map = source_map
        self._is_new = True
        self._started: dict[str, float] = {}

    def tell(self, event: RunEvent) -> None:
        if self._is_new:
            self._is_new = False
            _say("run", event.run)
        path = self._source_map.label(event.path)
        match event.kind:
            case "started":
                self._started[path] = time.monotonic()
                _say("started", path)
            case "retrying" | "suspended":
                is_asked = event.kind == "suspended"
                text = self._questions.text(event.path) if is_asked else None
                _say(event.kind, path, event.message or text)
                if is_asked:
                    _say(f"waiting: {self._questions.answer(event.run, event.path)}")
            case "evicted":
                _say("evicted", event.message)
            case "warned":
                _say("warning", path, event.message)
            case _:
                begun = self._started.pop(path, None)
                waited_s = None if begun is None else time.monotonic() - begun
                elapsed_s = waited_s if event.elapsed_s is None else event.elapsed_s
                took = None if elapsed_s is None else f"{elapsed_s:.2f} s"
                state = "reused" if event.kind == "reused" else event.status or ""
                _say(state, path, took, event.message)


def _say(first: str, *others: str | None) -> None:
    # Not click.echo, which takes five times as long: there may be ten thousand lines.
    parts = [f"{first:9}" if others else first, *(other for other in others if other)]
    sys.stderr.write("  ".join(parts) + "\n")
    sys.stderr.flush()


@dataclass(slots=True)
class _Entry:
    path: StepPath
    state: str = "waiting"
    started: float | None = None
    ended: float | None = None
    attempt: int | None = None
    inside: int = 0
    note: str = ""

    @property
    def is_open(self) -> bool:
        return self.state in _OPEN

    @property
    def elapsed_s(self) -> float | None:
        if self.started is None:
            return None
        return (self.ended or time.monotonic()) - self.started


class Board:
    """What a table shows: the workflow's own steps, and what runs or failed inside of them."""

    def __init__(self, workflow: Workflow, again: Again, source_map: SourceMap = NO_CHANGE) -> None:
        names = [step.name for step in workflow.steps]
        names += [f"{HANDLER_PREFIX}{handler.name}" for handler in workflow.exit_handlers]
        self._source_map = source_map
        self._order = {name: index for index, name in enumerate(names)}
        self._critical = critical_steps(workflow)
        self._questions = Questions(workflow, again)
        paths = [StepPath((PathPart(name),)) for name in names]
        self._entries = {path: _Entry(path) for path in paths}
        self._begun = time.monotonic()
        self._run = workflow.name
        self._logs: Path | None = None
        self._notice = ""
        self._evicted = 0
        self._warning: str | None = None

    def hear(self, text: str) -> None:
        """Show something of the run as a whole, until there is an event."""
        self._notice = text

    def tell(self, event: RunEvent) -> None:
        """Take note of an event."""
        self._run, path, now = event.run, event.path, time.monotonic()
        self._notice = ""
        if event.kind == "evicted":
            self._evicted += 1
            return
        if event.kind == "warned":
            self._warning = ": ".join(filter(None, (str(path), event.message)))
            return
        if event.log is not None:
            self._logs = event.log.parent
        if event.kind in ("finished", "reused"):
            own = self._entries.get(StepPath((PathPart(path[0].name),)))
            if own is not None and own.path != path:
                own.inside += 1
        is_own = depth_of(path) == 0
        if event.kind in ("finished", "reused") and not is_own and event.status not in FAILED:
            self._entries.pop(path, None)
            return
        entry = self._entries.setdefault(path, _Entry(path))
        entry.attempt = event.attempt or entry.attempt
        match event.kind:
            case "started":
                entry.state, entry.started = "running", now
                entry.note = "" if event.log is None else f"log: {event.log.name}"
            case "retrying":
                entry.state, entry.note = "retrying", event.message or ""
            case "suspended":
                entry.state, entry.note = "suspended", self._questions.note(event.run, path)
            case "reused":
                entry.state, entry.note = "reused", ""
            case "finished":
                entry.state, entry.ended = event.status or "", now
                if event.elapsed_s is not None:
                    entry.started = now - event.elapsed_s
                entry.note = event.message or ""

    def rows(self) -> list[Row]:
        """Return a row for each entry, what is inside of a step below it."""
        entries = sorted(self._entries.values(), key=self._place)
        return [
            Row(
                self._source_map.label(entry.path),
                depth_of(entry.path),
                entry.state,
                entry.elapsed_s,
                entry.attempt,
                entry.inside,
                entry.note,
                depth_of(entry.path) == 0 and entry.path[0].name in self._critical,
            )
            for entry in entries
        ]

    def render(self, height: int) -> t.Any:
        """Return what is shown on a terminal of so many lines."""
        rows = self.rows()
        own = [row for row in rows if row.depth == 0]
        ended = sum(row.state not in (*_OPEN, "waiting") for row in own)
        took = seconds_text(time.monotonic() - self._begun)
        return live_table(
            rows,
            title=f"{self._run}  {ended} of {len(own)} steps ended  {took}",
            footer=self._notice or self._footer(),
            height=height,
            stream=sys.stderr,
        )

    def _footer(self) -> str:
        told = [] if self._logs is None else [f"logs: {self._logs}"]
        if self._evicted:
            told.append(f"{counted(self._evicted, 'entry', 'entries')} of the cache evicted")
        if self._warning is not None:
            told.append(f"warning: {self._warning}")
        return "; ".join(told)

    def _place(self, entry: _Entry) -> list[tuple[int, str, int, int]]:
        return [
            (
                self._order.get(part.name, len(self._order)) if depth == 0 else 0,
                part.name,
                -1 if part.item is None else part.item,
                -1 if part.round is None else part.round,
            )
            for depth, part in enumerate(entry.path)
        ]


@contextmanager
def _live(session: Session, board: Board) -> Iterator[None]:
    from rich.live import Live

    console = session.console(sys.stderr)
    with Live(
        console=console,
        get_renderable=lambda: board.render(console.height),
        refresh_per_second=8,
        redirect_stdout=False,
        redirect_stderr=False,
    ):
        yield


class Questions:
    """What the steps of a workflow ask people for."""

    def __init__(self, workflow: Workflow, again: Again) -> None:
        self._again = again
        self._steps = {
            path: step for path, step in steps_by_path(workflow) if isinstance(step.action, Suspend)
        }

    def text(self, path: StepPath) -> str | None:
        """Return what a step asks; None if its author has not said."""
        step = self._steps.get(_names(path))
        return step.action.message if step and isinstance(step.action, Suspend) else None

    def answer(self, run: str, path: StepPath) -> str:
        """Return the command that answers, with a place for each value that must be entered."""
        step = self._steps.get(_names(path))
        outputs = () if step is None else step.outputs
        missing = [one.name for one in outputs if one.default is None]
        return self._again.resume(run, str(path), missing)

    def note(self, run: str, path: StepPath) -> str:
        """Return both, in a line."""
        return "  ".join(filter(None, (self.text(path), self.answer(run, path))))


def _names(path: StepPath) -> str:
    return "/".join(part.name for part in path)
