"""Logs of steps, from the engine or from what was kept here of it."""

from __future__ import annotations

import threading
from collections.abc import Iterator, Mapping
from pathlib import Path

from couler.backends.remote import Remote, RemoteRun
from couler.control.attempts import engines_number
from couler.control.connecting import connect, recorded_connection
from couler.control.following import remote_run
from couler.errors import EngineError, LostRunError
from couler.ir.walk import StepPath
from couler.state import runs
from couler.state.database import Database
from couler.state.records import RunRecord


class LogReader:
    """Reads logs of steps of a run, in several threads if need be, over one connection."""

    def __init__(self, run: RunRecord, database: Database, environment: Mapping[str, str]) -> None:
        self._run, self._database, self._environment = run, database, environment
        self._lock = threading.Lock()
        self._connected: tuple[Remote, RemoteRun] | None = None

    def read(
        self, path: StepPath, *, attempt: int | None = None, follow: bool = False
    ) -> Iterator[str]:
        """Yield the lines that an instance has written."""
        remote, asked = self._connect()
        number = attempt
        if attempt is not None:
            number = _engines_number(remote, asked, path, attempt, self._database)
        lines = remote.logs(asked, path, attempt=number, follow=follow)
        try:
            yield from lines
        except LostRunError:
            kept = _kept_log(self._run, path, self._database)
            if attempt is not None or kept is None:
                raise
            yield from kept.read_text(encoding="utf-8").split("\n")

    def _connect(self) -> tuple[Remote, RemoteRun]:
        with self._lock:
            if self._connected is None:
                remote = connect(recorded_connection(self._run), self._environment)
                self._connected = remote, remote_run(self._database, self._run)
            return self._connected


def read_log(
    run: RunRecord,
    path: StepPath,
    database: Database,
    environment: Mapping[str, str],
    *,
    attempt: int | None = None,
) -> Iterator[str]:
    """Yield the lines that an instance has written; see `LogReader.read`."""
    return LogReader(run, database, environment).read(path, attempt=attempt)


def _engines_number(
    remote: Remote, asked: RemoteRun, path: StepPath, attempt: int, database: Database
) -> int:
    """Return how the engine counts an attempt; it may count anew for a run that was taken up."""
    recorded = runs.attempts_of(database, asked.run_id, path=str(path))
    if len({record.session for record in recorded}) < 2:  # it has had no reason to count anew
        return attempt
    observed = {step.path: step.attempts for step in remote.observe(asked).steps}
    number = engines_number(recorded, observed.get(path, ()), attempt)
    if number is None:
        raise EngineError(
            f"attempt {attempt} of {path} was before the run was taken up again, "
            "and its log went with that"
        )
    return number


def _kept_log(run: RunRecord, path: StepPath, database: Database) -> Path | None:
    for step in runs.steps_of(database, run.id):
        if step.path == str(path) and step.log is not None and Path(step.log).is_file():
            return Path(step.log)
    return None
