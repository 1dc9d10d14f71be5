"""Ending a run from outside: `couler cancel`, which another process calls."""

from __future__ import annotations

import contextlib
import os
import signal
import socket
import time
import typing as t
from pathlib import Path

from couler.backends.base import RUNTIMES
from couler.backends.local.locations.exchange import clear_scratch
from couler.backends.local.orphans import begun_in, end_orphans
from couler.backends.local.recording import now, record_lost
from couler.backends.local.runtimes import make_runtime
from couler.errors import RunBusyError, StateError
from couler.ir.semantics.status import CANCELLED
from couler.state import runs
from couler.state.journal import Journal
from couler.state.ownership import own_run, owner_of

if t.TYPE_CHECKING:
    from couler.backends.local.surroundings import Surroundings
    from couler.state.database import Database
    from couler.state.records import RunRecord, RunStatus

PATIENCE_S = 20.0
"""How long to wait for an end: steps have some seconds, and exit handlers may run."""

_POLL_S = 0.05


def cancel(run: RunRecord, around: Surroundings, database: Database) -> RunStatus:
    """Cancel a run and return how it stands then."""
    folder = Path(run.folder) if run.folder else around.home.run_folder(run.id)
    told: set[int] = set()
    until = time.monotonic() + PATIENCE_S
    while (run := runs.find_run(database, run.id)).status == "running":
        if run.host != socket.gethostname():
            raise StateError(f"{run.id} runs on the machine {run.host}. Cancel it there")
        owner = owner_of(folder)
        if owner is None:
            with contextlib.suppress(RunBusyError), own_run(folder):
                _bury(run, around, database)
        elif owner.pid and owner.pid not in told:
            told.add(owner.pid)  # once: a second signal would not let it end its steps
            with contextlib.suppress(ProcessLookupError):
                os.kill(owner.pid, signal.SIGTERM)
        elif time.monotonic() > until:
            break
        else:
            time.sleep(_POLL_S)
    return run.status


def _bury(run: RunRecord, around: Surroundings, database: Database) -> None:
    """Record the end of a run whose engine died, and end what that left behind."""
    if runs.find_run(database, run.id).status != "running":  # it ended by itself just now
        return
    lost = runs.attempts_of(database, run.id, status="running")
    end_orphans(run.id, begun_in(lost))
    clear_scratch(Path(run.folder) if run.folder else around.home.run_folder(run.id))
    sessions = runs.sessions_of(database, run.id)
    used = {session.options.get("runtime") for session in sessions}
    for name in RUNTIMES:
        if name in used:
            make_runtime(name, around.environ).end_orphans(run.id)
    number = sessions[-1].number if sessions else 1
    with Journal(database, run.id, number) as journal:
        record_lost(journal, lost)
        journal.run_updated(status="cancelled", finished=now(), message=CANCELLED)
        journal.session_ended("interrupted")
        journal.flush()
