"""Runs are followed on their engines: what is told of them is recorded until they are over."""

from __future__ import annotations

import typing as t
from collections import deque
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

from couler.backends.remote import Observation, Remote, RemoteRun
from couler.control.connecting import connect, recorded_connection
from couler.control.recording import Recorded, Recorder
from couler.control.submission import CANCELLED, as_place
from couler.errors import EngineError, LostRunError, RunBusyError
from couler.ir.paths import StepPath
from couler.ir.serialize import read_json
from couler.state import runs
from couler.state.database import Database
from couler.state.home import Home
from couler.state.journal import Journal
from couler.state.ownership import own_run
from couler.state.records import RunRecord, StepRecord
from couler.state.results import Event

Tell: t.TypeAlias = Callable[[Event], None]

LOG_LINES = 5000
"""How many of the last lines of a failed step are kept here."""


def remote_run(database: Database, run: RunRecord) -> RemoteRun:
    """Return a run as its engine is asked for it.

    Raises
    ------
    StateError
        It is not known whether the engine has it.
    """
    place = as_place(run)
    return RemoteRun(run.id, read_json(runs.workflow_of(database, run.id)), place)


def refresh(
    run: RunRecord, database: Database, home: Home, environment: Mapping[str, str]
) -> RunRecord:
    """Ask the engine once how a run stands, record it, and return its record.

    A run that another process follows is as that has recorded it.

    Raises
    ------
    StateError
        It is not known whether the engine has it, or it cannot be written.
    ConfigurationError, EngineError
        The engine cannot be asked.
    """
    asked = remote_run(database, run)
    remote = connect(recorded_connection(run), environment)
    try:
        with own_run(home.run_folder(run.id)), _recorder(database, run) as recorder:
            recorder.record(_as_asked(remote.observe(asked), run.id, database))
    except RunBusyError:  # who follows it records the same
        return runs.find_run(database, run.id)
    return runs.find_run(database, run.id)


def follow(
    run: RunRecord,
    database: Database,
    home: Home,
    environment: Mapping[str, str],
    *,
    on_event: Tell | None = None,
    is_restart: bool = False,
) -> RunRecord:
    """Record how a run goes until it is over, and return its record.

    The last lines of what failed are kept in the run's folder.

    Parameters
    ----------
    run
        The run.
    database, home, environment
        Where it is recorded, and where credentials are.
    on_event
        Told of what happens to each step.
    is_restart
        Whether it was taken up again just now.

    Raises
    ------
    RunBusyError
        Another process follows it.
    StateError
        It is not known whether the engine has it, or it cannot be written.
    ConfigurationError, EngineError
        The engine cannot be asked; the run may go on.
    """
    asked = remote_run(database, run)
    remote = connect(recorded_connection(run), environment)
    with own_run(home.run_folder(run.id)):
        with _recorder(database, run, is_restart=is_restart) as recorder:
            for observation in remote.follow(asked):
                for event in recorder.record(_as_asked(observation, run.id, database)):
                    if on_event is not None:
                        on_event(event)
        _keep_logs(remote, asked, database, home)
    return runs.find_run(database, run.id)


def _as_asked(observation: Observation, run_id: str, database: Database) -> Observation:
    """Return what is observed; what was cancelled from here and failed then is cancelled."""
    if observation.status == "failed":
        place = runs.find_run(database, run_id).place or {}
        if place.get(CANCELLED):
            return replace(observation, status="cancelled")
    return observation


@contextmanager
def _recorder(
    database: Database, run: RunRecord, *, is_restart: bool = False
) -> Iterator[Recorder]:
    """Give a recorder of a run, in its latest session."""
    session = max((one.number for one in runs.sessions_of(database, run.id)), default=1)
    with Journal(database, run.id, session) as journal:
        yield Recorder(journal, Recorded.read(database, run.id), is_restart=is_restart)


# logs ----------------------------------------------------------------------------------------


def read_log(
    run: RunRecord,
    path: StepPath,
    database: Database,
    environment: Mapping[str, str],
    *,
    attempt: int | None = None,
    follow: bool = False,
) -> Iterator[str]:
    """Yield the lines that an instance has written.

    What the engine has no more is taken from what was kept here when the step failed.

    Raises
    ------
    StateError
        It is not known whether the engine has the run.
    ConfigurationError, EngineError
        The engine cannot be asked, or has no log of it.
    """
    remote = connect(recorded_connection(run), environment)
    lines = remote.logs(remote_run(database, run), path, attempt=attempt, follow=follow)
    try:
        yield from lines
    except LostRunError:
        kept = _kept_log(run, path, database)
        if attempt is not None or kept is None:
            raise
        yield from kept.read_text(encoding="utf-8").splitlines()


def _kept_log(run: RunRecord, path: StepPath, database: Database) -> Path | None:
    for step in runs.steps_of(database, run.id):
        if step.path == str(path) and step.log is not None and Path(step.log).is_file():
            return Path(step.log)
    return None


def _keep_logs(remote: Remote, asked: RemoteRun, database: Database, home: Home) -> None:
    """Keep the last lines of each step that failed, before the engine cleans them up."""
    folder = home.run_folder(asked.run_id) / "logs"
    failed = [
        step
        for step in runs.steps_of(database, asked.run_id)
        if step.status == "failed" and step.attempts and step.log is None
    ]
    kept: list[StepRecord] = []
    for number, step in enumerate(failed):
        try:
            lines = deque(remote.logs(asked, StepPath.parse(step.path)), maxlen=LOG_LINES)
        except EngineError:  # `couler logs` says why; the end of the run is what was asked for
            continue
        if not lines:
            continue
        folder.mkdir(parents=True, exist_ok=True)
        file = folder / f"{step.session}-{number}.log"
        file.write_text("\n".join(lines) + "\n", encoding="utf-8")
        kept.append(replace(step, log=str(file)))
    if kept:
        session = max(one.number for one in runs.sessions_of(database, asked.run_id))
        with Journal(database, asked.run_id, session) as journal:
            for step in kept:
                journal.step_ended(step)
            journal.flush()
