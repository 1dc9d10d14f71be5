"""Runs followed on their engines until they are over, with the last log lines of failed steps."""

from __future__ import annotations

import hashlib
import time
import typing as t
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from datetime import UTC, datetime

from couler.backends.remote import Observation, Remote, RemoteRun
from couler.control import marks
from couler.control.connecting import connect, recorded_connection
from couler.control.failing import failed_by_themselves
from couler.control.recording import Recorded, Recorder
from couler.control.submission import as_place
from couler.errors import ConfigurationError, EngineError, LostRunError, RunBusyError
from couler.ir.semantics.places import failure_text
from couler.ir.serialize import read_json
from couler.ir.walk import StepPath
from couler.state import runs
from couler.state.database import Database
from couler.state.home import Home
from couler.state.journal import Journal
from couler.state.ownership import own_run
from couler.state.records import RunRecord, StepRecord
from couler.state.results import Event

Tell: t.TypeAlias = Callable[[Event], None]


def remote_run(database: Database, run: RunRecord) -> RemoteRun:
    """Return a run as its engine is asked for it."""
    place = as_place(run)
    return RemoteRun(run.id, read_json(runs.workflow_of(database, run.id)), place)


def refresh(
    run: RunRecord, database: Database, home: Home, environment: Mapping[str, str]
) -> RunRecord:
    """Ask the engine once how a run stands, record it, and return its record."""
    try:
        with _followed(run, database, home, environment) as followed:
            try:
                followed.record(followed.remote.observe(followed.asked))
            except LostRunError as error:
                followed.lose(error)
    except RunBusyError:
        # Who follows it records the same, but perhaps waits for an engine that is away.
        with suppress(LostRunError):
            connect(recorded_connection(run), environment).observe(remote_run(database, run))
    return runs.find_run(database, run.id)


def follow(
    run: RunRecord,
    database: Database,
    home: Home,
    environment: Mapping[str, str],
    *,
    on_event: Tell | None = None,
    is_restart: bool = False,
    may_retry: bool = False,
) -> RunRecord:
    """Record how a run goes until it is over, and return its record."""
    with _followed(run, database, home, environment, is_restart=is_restart) as followed:
        try:
            for observation in followed.remote.follow(followed.asked):
                for event in followed.record(observation):
                    if on_event is not None:
                        on_event(event)
        except LostRunError as error:
            followed.lose(error)
        if may_retry:
            session = followed.recorder.journal.session
            marks.begin_look(database, run.id, session=session)
        save_failed_step_logs(
            followed.remote, followed.asked, followed.recorder.journal, database, home
        )
    return runs.find_run(database, run.id)


@dataclass(frozen=True, slots=True)
class _Followed:
    """A run while this process records how it goes."""

    asked: RemoteRun
    remote: Remote
    recorder: Recorder
    database: Database

    def record(self, observation: Observation) -> tuple[Event, ...]:
        """Record how it stands; what was cancelled from here and failed then is cancelled."""
        run = runs.find_run(self.database, self.asked.run_id)
        if observation.status == "failed" and marks.has_mark(run, marks.CANCELLED):
            observation = replace(observation, status="cancelled")
        elif observation.status == "failed" and not observation.message:
            ends = {str(step.path): step for step in observation.steps}
            told = failure_text(self.asked.workflow, ends)
            observation = replace(observation, message=told)
        events = self.recorder.record(observation)
        if marks.has_mark(run, marks.LOST):  # it is there again
            marks.unmark(self.database, run.id, marks.LOST)
        return events

    def lose(self, error: LostRunError) -> None:
        """Record that the engine has it no more, if it was not over."""
        run_id, session = self.asked.run_id, self.recorder.journal.session
        if runs.find_run(self.database, run_id).status != "running":
            return
        self.recorder.break_off()
        told = (
            f"{str(error).rstrip('.')}: asked for at {datetime.now(UTC):%Y-%m-%d %H:%M:%S} UTC. "
            "How it ended is not known. `couler submit` begins another run, "
            f"`couler delete {run_id}` forgets this one"
        )
        marks.lose(self.database, run_id, told, session=session)


@contextmanager
def _followed(
    run: RunRecord,
    database: Database,
    home: Home,
    environment: Mapping[str, str],
    *,
    is_restart: bool = False,
) -> Iterator[_Followed]:
    """Own a run, in its latest session, and give what it is asked for and recorded with."""
    with own_run(home.run_folder(run.id)):
        session = runs.standing_of(database, run.id).session
        latest = runs.find_run(database, run.id)  # after that: what is later is of another session
        asked = remote_run(database, latest)
        remote = connect(recorded_connection(latest), environment)
        with Journal(database, run.id, max(session, 1), is_shared=True) as journal:
            recorder = Recorder(journal, Recorded.read(database, run.id), is_restart=is_restart)
            yield _Followed(asked, remote, recorder, database)


MAX_LOG_LINES = 5000
"""How many of the last lines of a failed step are kept."""

MAX_LOGGED_STEPS = 20
"""Of how many steps; those that failed first tell what is wrong."""

LOG_DOWNLOAD_TIMEOUT_S = 60.0
"""How long all of it may take."""


def save_failed_step_logs(
    remote: Remote,
    asked: RemoteRun,
    journal: Journal,
    database: Database,
    home: Home,
    *,
    clock: Callable[[], float] = time.monotonic,
) -> None:
    """Keep the last lines of the steps that failed by themselves, and record where."""
    folder = home.run_folder(asked.run_id) / "logs"
    every = failed_by_themselves(runs.steps_of(database, asked.run_id))
    failed = [step for step in every if step.log is None]
    until = clock() + LOG_DOWNLOAD_TIMEOUT_S
    asked_for = 0
    for step in failed[: max(0, MAX_LOGGED_STEPS - (len(every) - len(failed)))]:
        if clock() > until:
            break
        try:
            lines = _last_lines(remote.logs(asked, StepPath.parse(step.path)), until, clock)
        except (
            EngineError,
            ConfigurationError,
        ):  # `couler logs` says why; the end of the run is what was asked for
            asked_for += 1
            continue
        if lines is None:
            break
        asked_for += 1
        if lines:
            folder.mkdir(parents=True, exist_ok=True)
            file = folder / _log_name(step)
            file.write_text("\n".join(lines) + "\n", encoding="utf-8")
            journal.step_ended(replace(step, log=str(file)))
    journal.flush()
    if asked_for < len(failed):
        _tell_left(asked.run_id, len(failed) - asked_for, len(every), journal, database)


def _last_lines(
    lines: Iterable[str], until: float, clock: Callable[[], float]
) -> deque[str] | None:
    """Return the last lines; None if the time was up before the end of them was seen."""
    last: deque[str] = deque(maxlen=MAX_LOG_LINES)
    for line in lines:
        last.append(line)
        if clock() > until:
            return None
    return last


def _log_name(step: StepRecord) -> str:
    """Return a name that no other step of the run has for its log."""
    return f"{step.session}-{hashlib.sha256(step.path.encode()).hexdigest()[:16]}.log"


def _tell_left(run_id: str, left: int, failed: int, journal: Journal, database: Database) -> None:
    told = (
        f"the logs of {left} of {failed} failed steps are not kept here; "
        f"`couler logs {run_id} STEP` asks the engine for them"
    )

    marks.add_message(database, run_id, told, session=journal.session)
