"""Runs on engines elsewhere are ended, let go on, and taken away."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping

from couler.control import marks
from couler.control.connecting import connect, recorded_connection
from couler.control.following import refresh, remote_run
from couler.errors import ConfigurationError, LostRunError, RefusedError
from couler.ir.walk import StepPath
from couler.state import runs
from couler.state.database import Database
from couler.state.home import Home
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
    """End a run, its exit handlers with it, and return its record, which may still be `running`."""
    if marks.call_off(database, run.id):
        return runs.find_run(database, run.id)
    latest = runs.find_run(database, run.id)
    if latest.status == "running":
        latest = refresh(latest, database, home, environment)
    if latest.status != "running":
        return latest
    _tell_to_end(latest, database, environment)
    until = time.monotonic() + patience_s
    while True:
        latest = refresh(runs.find_run(database, run.id), database, home, environment)
        if latest.status != "running" or time.monotonic() > until:
            return latest
        sleep(_POLL_S)


def _tell_to_end(run: RunRecord, database: Database, environment: Mapping[str, str]) -> None:
    """Tell the engine to end a run."""
    remote = connect(recorded_connection(run), environment)
    asked = remote_run(database, run)
    is_first = marks.mark(database, run.id, marks.CANCELLED)
    try:
        remote.cancel(asked)
    except LostRunError:
        return  # it is recorded as the engine is asked for it next
    except (RefusedError, ConfigurationError):  # it was not told
        if is_first:
            marks.unmark(database, run.id, marks.CANCELLED)
        raise


def resume(
    run: RunRecord,
    path: StepPath,
    database: Database,
    environment: Mapping[str, str],
    entered: Mapping[str, str] | None = None,
) -> None:
    """Let a step go on that waits for a person."""
    remote = connect(recorded_connection(run), environment)
    remote.resume(remote_run(database, run), path, entered)


def delete_remote(run: RunRecord, database: Database, environment: Mapping[str, str]) -> None:
    """Take a run away from its engine; what is recorded of it stays."""
    if run.place is None and run.status == "failed":  # the engine did not take it
        return
    asked = remote_run(database, run)
    try:
        connect(recorded_connection(run), environment).delete(asked)
    except LostRunError:
        return
