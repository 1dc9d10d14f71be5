"""Logs of runs on engines elsewhere: read from the engine, of several steps at the same time."""

from __future__ import annotations

import queue
import threading
import time
import typing as t
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from datetime import datetime

import click

from couler.cli._elsewhere import Unreached, ask
from couler.cli._prefixes import Prefixes, is_of
from couler.cli.session import Session
from couler.errors import CoulerError
from couler.ir.grouped import lines_of
from couler.ir.serialize import read_json
from couler.ir.walk import StepPath, steps_by_path, without_places
from couler.ir.workflow import Http, Suspend

if t.TYPE_CHECKING:
    from couler.state import AttemptRecord, Database, Home, RunRecord

_AT_ONCE = 16
"""How many logs are read at the same time; each is a connection."""

LEFT_OUT = ("skipped", "omitted")
"""Ends of what did not run; of an earlier session it may have a log, which the engine forgets."""

_POLL_S = 1.0
"""How long lines are taken until it is looked for new steps."""

ReadLog: t.TypeAlias = Callable[[str], Iterator[str]]
"""Gives the lines of the step of a path, for one that is followed until it ends."""


@dataclass(frozen=True, slots=True)
class Line:
    """A line of a step's log; or why there are no more of them; or nothing once it has ended."""

    path: str
    text: str | None = None
    fault: CoulerError | None = None


@dataclass(slots=True)
class Tails:
    """Reads logs as they grow."""

    read: ReadLog
    _lines: queue.SimpleQueue[Line] = field(default_factory=queue.SimpleQueue)
    _waiting: list[str] = field(default_factory=list)
    _known: set[str] = field(default_factory=set)
    _open: int = 0

    @property
    def is_idle(self) -> bool:
        """Whether every log that was asked for has been read to its end."""
        return not (self._open or self._waiting)

    def add(self, path: str) -> None:
        """Read the log of a step too, once."""
        if path not in self._known:
            self._known.add(path)
            self._waiting.append(path)
        self._fill()

    def take(self) -> Iterator[Line]:
        """Yield the lines that come within a moment."""
        until = time.monotonic() + _POLL_S
        while (left := until - time.monotonic()) > 0:
            try:
                line = self._lines.get(timeout=left)
            except queue.Empty:
                return
            if line.text is None:
                self._open -= 1
                self._fill()
            if line.text is not None or line.fault is not None:
                yield line
            if self.is_idle:
                return

    def _fill(self) -> None:
        while self._waiting and self._open < _AT_ONCE:
            path = self._waiting.pop(0)
            self._open += 1
            # It ends with the process: a log that does not end would keep it from ending.
            threading.Thread(target=self._pump, args=(path,), daemon=True).start()

    def _pump(self, path: str) -> None:
        fault: CoulerError | None = None
        try:
            for text in self.read(path):
                self._lines.put(Line(path, text))
        except CoulerError as error:
            fault = error
        finally:
            self._lines.put(Line(path, None, fault))


def show_logs(
    session: Session,
    run: RunRecord,
    database: Database,
    home: Home,
    *,
    step: str | None,
    attempt: int | None,
    follow: bool,
    inside: str | None = None,
) -> bool:
    """Show what the steps of a run have written, and return whether there was a step to read."""
    from couler.control.log_reading import LogReader

    run, fault = ask(session, run, database, home)
    reader = LogReader(run, database, session.environment)

    def read(path: str) -> Iterator[str]:
        lines = reader.read(StepPath.parse(path), attempt=attempt, follow=follow)
        return lines if inside is None else lines_of(inside, lines)

    printer = Printer(session, Prefixes(session, step))
    if follow and fault is None:
        fault = _show_all(session, run, database, home, printer, Tails(read), attempt)
    else:
        printer.prefixes.know(_tried(database, run, step, attempt))
        for path in printer.prefixes.paths:
            try:
                for text in read(path):
                    printer.show(Line(path, text))
            except CoulerError as error:
                printer.show(Line(path, fault=error))
    last = printer.fault or fault
    if last is not None:
        if printer.fault is None:
            session.error(f"this is what was known last: {last}")
        click.get_current_context().exit(last.exit_code)
    elif printer.prefixes.paths and not printer.has_shown:
        session.info(told_nothing(run.id, step))
    return bool(printer.prefixes.paths)


def told_nothing(run: str, step: str | None) -> str:
    """Return what is said in the place of logs that are empty."""
    if step is None:
        return f"{run}: no step has written anything"
    return f'{run}: step "{step}" has written nothing'


def _show_all(
    session: Session,
    run: RunRecord,
    database: Database,
    home: Home,
    printer: Printer,
    tails: Tails,
    attempt: int | None,
) -> Unreached | None:
    """Show logs until the run is over, and those of steps that begin meanwhile."""
    fault: Unreached | None = None
    while True:
        printer.prefixes.know(_tried(database, run, printer.prefixes.step, attempt))
        is_over = run.status != "running" or fault is not None  # asked before the lines are read
        for path in printer.prefixes.paths:
            tails.add(path)
        if tails.is_idle:
            if is_over:
                return fault
            time.sleep(_POLL_S)
        for line in tails.take():
            printer.show(line)
        if not is_over:
            run, fault = ask(session, run, database, home)


def _tried(database: Database, run: RunRecord, step: str | None, attempt: int | None) -> list[str]:
    """Return the paths of what was tried and is wanted, in the order in which it began."""
    from couler.state import attempts_of, steps_of, workflow_of

    # Of these an engine has no log, or none that a process wrote; whoever wants it names the step.
    steps = dict(steps_by_path(read_json(workflow_of(database, run.id))))
    silent = {path for path, one in steps.items() if isinstance(one.action, Suspend | Http)}
    places = {path: place for place, path in enumerate(steps)}
    left_out = {one.path for one in steps_of(database, run.id) if one.status in LEFT_OUT}

    def order(one: AttemptRecord) -> tuple[datetime, int]:  # engines tell of times in seconds
        return one.started, places.get(str(without_places(StepPath.parse(one.path))), len(places))

    ordered = sorted(attempts_of(database, run.id), key=order)
    return list(
        dict.fromkeys(
            one.path
            for one in ordered
            if attempt in (None, one.number)
            and one.path not in left_out
            and (step is None or is_of(one.path, step))
            and (one.path == step or str(without_places(StepPath.parse(one.path))) not in silent)
        )
    )


@dataclass(slots=True)
class Printer:
    """Prints lines, and complains of logs that cannot be read."""

    session: Session
    prefixes: Prefixes
    fault: CoulerError | None = None
    has_shown: bool = False

    def show(self, line: Line) -> None:
        """Print a line, or complain of why there are no more."""
        if line.fault is not None:
            self.fault = line.fault
            self.session.error(f'step "{line.path}": {line.fault}')
        elif line.text is not None:
            self.has_shown = True
            click.echo(self.prefixes.of(line.path) + line.text)
