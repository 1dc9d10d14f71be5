"""`couler logs`: what the steps of a run have written."""

from __future__ import annotations

import time
import typing as t
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

import click

from couler.cli._logs_elsewhere import LEFT_OUT, show_logs, told_nothing
from couler.cli._prefixes import Prefixes, is_of
from couler.cli.runs import home_option, open_home, run_argument
from couler.cli.session import Session, pass_session, session_options
from couler.errors import StateError, StepNotFoundError
from couler.ir.grouped import inner_name, lines_of
from couler.ir.semantics.places import find_place, refuse_unknown
from couler.ir.serialize import read_json
from couler.state import (
    AttemptRecord,
    Database,
    RunRecord,
    StepRecord,
    attempts_of,
    find_run,
    shown_status,
    source_map_of,
    steps_of,
    workflow_of,
)

_POLL_S = 0.2

_PIECE = 1 << 20
"""How many bytes of a log are read at a time."""


@click.command()
@run_argument
@click.argument("step", required=False)
@click.option("-f", "--follow", is_flag=True, help="Go on until the run ends, with new steps too.")
@click.option(
    "--attempt",
    type=click.IntRange(min=1),
    metavar="N",
    help="What the N-th attempt of each step has written, over all sessions of the run.",
)
@home_option
@session_options
@pass_session
def command(
    session: Session, run: str, step: str | None, follow: bool, attempt: int | None, home: t.Any
) -> None:
    """Show what the steps of a run have written.

    STEP is a path as `couler status` shows it, or the program has it, or the name of a step with
    items, rounds or steps inside, which stands for all of them. Where several logs are shown, each
    line begins with the path of its step. All attempts of a step are in one log; --attempt shows
    one of them. An engine elsewhere has one log for each attempt, and gives that of the last.
    """
    inside: str | None = None
    with open_home(session, home) as (database, found):
        record = find_run(database, run)
        name = record.id
        if step is not None and (source_map := source_map_of(database, name)):
            if step in source_map.removed:
                session.info(f'step "{step}" has no log: {source_map.removed[step]}')
                return
            workflow, asked = read_json(workflow_of(database, name)), step
            step = find_place(workflow, asked, source_map)
            inside = inner_name(workflow, step, asked)
        if record.target is not None:
            if not show_logs(
                session,
                record,
                database,
                found,
                step=step,
                attempt=attempt,
                follow=follow,
                inside=inside,
            ):
                _complain_of_nothing(session, database, find_run(database, name), step, attempt)
            return
        prefixes = Prefixes(session, step)
        reader = _Reader(session, database, name, step, attempt, prefixes, inside)
        has_shown = False
        while True:
            record = find_run(database, name)
            is_over = shown_status(record) != "running"  # asked before reading: nothing is missed
            for line in reader.read(is_last=is_over or not follow):
                has_shown = True
                click.echo(line)
            if is_over or not follow:
                break
            time.sleep(_POLL_S)
        if not has_shown:
            reader.complain_of_nothing(record)


@dataclass(slots=True)
class _Log:
    """A log that is read as it grows, or the part of one attempt."""

    path: str
    file: Path
    position: int = 0
    end: int | None = None
    """Where the part of the next attempt begins."""
    head: bytes | None = None
    """The line that an attempt begins with, which is left out; None once it has come."""
    rest: bytes = b""

    def lines(self, *, is_last: bool) -> Iterator[str]:
        """Yield the lines that are whole by now; the last one in any case if nothing follows."""
        try:
            with self.file.open("rb") as stream:
                stream.seek(self.position)
                while piece := stream.read(self._size()):
                    self.position += len(piece)
                    *whole, self.rest = (self.rest + piece).split(b"\n")
                    yield from (_text(line) for line in whole if not self._is_head(line))
        except FileNotFoundError:  # its process has not started
            return
        if is_last and self.rest:
            yield _text(self.rest)
            self.rest = b""

    def _size(self) -> int:
        return _PIECE if self.end is None else max(0, min(_PIECE, self.end - self.position))

    def _is_head(self, line: bytes) -> bool:
        """Return whether a line is the head of the attempt, or the end of one that was cut."""
        if self.head is None:
            return False
        if line == self.head:
            self.head = None
            return True
        return line == b""


@dataclass(slots=True)
class _Reader:
    """The logs of a run, or of a step."""

    session: Session
    database: Database
    run: str
    step: str | None
    attempt: int | None
    prefixes: Prefixes
    inside: str | None
    """A step inside of the one that is asked for, whose lines alone are wanted."""
    logs: dict[str, _Log] = field(default_factory=dict)

    def read(self, *, is_last: bool) -> Iterator[str]:
        """Yield what has been written since the last call."""
        attempts = attempts_of(self.database, self.run)
        for attempt in sorted(attempts, key=lambda one: one.started):
            if attempt.log is None or not (self.step is None or is_of(attempt.path, self.step)):
                continue
            if self.attempt is None:
                self.logs.setdefault(attempt.path, _Log(attempt.path, Path(attempt.log)))
            else:
                self._add_part(attempt, Path(attempt.log), self.attempt)
        self.prefixes.know(self.logs)
        written = {attempt.path for attempt in attempts if attempt.finished is None}
        for log in tuple(self.logs.values()):
            lines = log.lines(is_last=is_last or log.path not in written)
            for line in lines if self.inside is None else lines_of(self.inside, lines):
                yield self.prefixes.of(log.path) + line

    def _add_part(self, attempt: AttemptRecord, file: Path, wanted: int) -> None:
        if attempt.number == wanted:
            head = None if wanted == 1 else b"--- attempt %d ---" % wanted
            part = _Log(attempt.path, file, attempt.log_from or 0, head=head)
            self.logs.setdefault(attempt.path, part)
        elif attempt.number == wanted + 1 and attempt.path in self.logs:
            self.logs[attempt.path].end = attempt.log_from

    def complain_of_nothing(self, run: RunRecord) -> None:
        """Say why there was nothing to read, if so."""
        if not self.logs:
            _complain_of_nothing(self.session, self.database, run, self.step, self.attempt)
        elif not any(log.file.exists() for log in self.logs.values()):
            self.session.complain(f"{run.id}: the logs are no longer in {run.folder}")
        else:
            self.session.info(told_nothing(run.id, self.step))


def _complain_of_nothing(
    session: Session, database: Database, run: RunRecord, step: str | None, attempt: int | None
) -> None:
    """Say why no step of a run was tried that is asked for."""
    steps = {one.path: one for one in steps_of(database, run.id)}
    if step in steps and steps[step].status in LEFT_OUT:
        _tell_end(session, steps[step])
        return
    attempts = attempts_of(database, run.id)
    tried = [one for one in attempts if step is None or is_of(one.path, step)]
    if attempt is not None and tried:
        most = max(one.number for one in tried)
        which = "a step" if step is None else f'step "{step}"'
        raise StepNotFoundError(
            f"{run.id}: {which} has had at most {most} attempts; there is no attempt {attempt}"
        )
    if step is None:
        session.info(f"{run.id}: no step has written anything")
    elif step in steps:
        _tell_end(session, steps[step])
    elif not any(is_of(path, step) for path in steps):
        workflow = read_json(workflow_of(database, run.id))
        refuse_unknown(workflow, step, source_map_of(database, run.id))
        raise StateError(
            f'{run.id}: no step "{step}" has begun. `couler status {run.id}` shows those that have'
        )


def _tell_end(session: Session, step: StepRecord) -> None:
    why = f": {step.message}" if step.message else ""
    session.info(f'step "{step.path}" has no log; it is {step.status}{why}')


def _text(line: bytes) -> str:
    return line.decode("utf-8", errors="replace").removesuffix("\r")
