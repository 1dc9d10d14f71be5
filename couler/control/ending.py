"""Runs on engines elsewhere are ended, let go on, and taken away."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping

from couler.control.connecting import connect, recorded_connection
from couler.control.following import refresh, remote_run
from couler.control.submission import CANCELLED, as_place
from couler.errors import LostRunError
from couler.ir.paths import StepPath
from couler.state import runs
from couler.state.database import Database
from couler.state.home import Home
from couler.state.journal import Journal
from couler.state.records import RunRecord

_POLL_S = 1.0
PATIENCE_S = 60.0
"""How long a run that is cancelled may take to end until the caller is told that it goes on."""


def cancel(
    run: RunRecord,
    database: Database,
    home: Home,
    environment: Mapping[str, str],
    *,
    patience_s: float = PATIENCE_S,
    sleep: Callable[[float], None] = time.sleep,
) -> RunRecord:
    """End a run, its exit handlers with it, and return its record, which may still be `running`.

    Raises
    ------
    StateError
        It is not known whether the engine has it, or it cannot be written.
    ConfigurationError, EngineError
        The engine cannot be asked, or refused.
    """
    asked = remote_run(database, run)
    connect(recorded_connection(run), environment).cancel(asked)
    _update_place(run, database, {**as_place(run), CANCELLED: True})
    until = time.monotonic() + patience_s
    while True:
        latest = refresh(runs.find_run(database, run.id), database, home, environment)
        if latest.status != "running" or time.monotonic() > until:
            return latest
        sleep(_POLL_S)


def resume(
    run: RunRecord,
    path: StepPath,
    database: Database,
    environment: Mapping[str, str],
    entered: Mapping[str, str] | None = None,
) -> None:
    """Let a step go on that waits for a person.

    Raises
    ------
    StateError
        It is not known whether the engine has the run.
    ConfigurationError, EngineError
        The engine cannot be asked, or the step does not wait.
    """
    remote = connect(recorded_connection(run), environment)
    remote.resume(remote_run(database, run), path, entered)


def delete_remote(run: RunRecord, database: Database, environment: Mapping[str, str]) -> None:
    """Take a run away from its engine; what is recorded of it stays.

    Nothing happens where the engine has it no more.

    Raises
    ------
    ConfigurationError, EngineError
        The engine cannot be asked, or refused.
    """
    if run.place is None and run.status == "failed":  # the engine did not take it
        return
    asked = remote_run(database, run)
    try:
        connect(recorded_connection(run), environment).delete(asked)
    except LostRunError:
        return


def _update_place(run: RunRecord, database: Database, place: Mapping[str, object]) -> None:
    session = max((one.number for one in runs.sessions_of(database, run.id)), default=1)
    with Journal(database, run.id, session) as journal:
        journal.run_updated(place=place)
        journal.flush()
