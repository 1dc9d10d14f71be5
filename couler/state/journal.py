"""What one engine process writes of a run while it works on it."""

from __future__ import annotations

import sqlite3
import typing as t
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from datetime import UTC, datetime
from operator import attrgetter

import sqlalchemy as sa

from couler.errors import RunBusyError
from couler.state.database import Database
from couler.state.faults import explain_faults
from couler.state.records import (
    AttemptRecord,
    AttemptStatus,
    CacheDecision,
    Json,
    RunStatus,
    SessionStatus,
    StepRecord,
)
from couler.state.runs import lock_run
from couler.state.tables import attempts, cache_decisions, run_objects, runs, sessions, steps
from couler.state.upsert import upsert

_Row: t.TypeAlias = tuple[t.Any, ...] | dict[str, t.Any]
_Write: t.TypeAlias = t.Callable[[str, t.Any], object]

_WITH_IT_S = 1.0
"""A process that begins so soon after the record of its attempt needs no time of its own."""


class Journal:
    """Collects what happens in a run, and writes it at once when it is told to."""

    def __init__(
        self, database: Database, run_id: str, session: int, *, is_shared: bool = False
    ) -> None:
        self.run_id = run_id
        self.session = session
        self._is_shared = is_shared
        self._place = database.place
        self._connection = database.connect_writer()
        dialect = database.dialect
        self._steps = _RowWriter(upsert(steps, dialect), dialect, run_id)
        self._attempts = _RowWriter(upsert(attempts, dialect), dialect, run_id)
        self._decisions = _RowWriter(sa.insert(cache_decisions), dialect, run_id, leave="number")
        self._objects = _RowWriter(upsert(run_objects, dialect), dialect, run_id)
        self._open_attempts: dict[tuple[str, int], AttemptRecord] = {}
        self._clear()

    def _clear(self) -> None:
        self._forgotten: list[str] = []
        self._gone: list[str] = []
        self._step_rows: dict[str, _Row] = {}
        self._attempt_rows: dict[tuple[str, int], _Row] = {}
        self._foreign_ends: dict[tuple[str, int], dict[str, t.Any]] = {}
        self._decision_rows: list[_Row] = []
        self._object_rows: list[_Row] = []
        self._run_values: dict[str, t.Any] = {}
        self._session_values: dict[str, t.Any] = {}

    @property
    def is_empty(self) -> bool:
        """Whether there is nothing to flush."""
        rows = self._step_rows or self._attempt_rows or self._decision_rows
        return not (rows or self._has_rare)

    @property
    def _has_rare(self) -> bool:
        """Whether more is noted than the rows that every step brings."""
        return bool(
            self._forgotten
            or self._gone
            or self._foreign_ends
            or self._run_values
            or self._session_values
        )

    def attempt_started(
        self,
        path: str,
        number: int,
        *,
        started: datetime,
        log: str | None = None,
        log_from: int | None = None,
        node: str | None = None,
    ) -> None:
        """Note that a step is about to be tried."""
        self._note_attempt(
            AttemptRecord(
                path, number, self.session, started, log=log, log_from=log_from, node=node
            )
        )

    def attempt_spawned(
        self,
        path: str,
        number: int,
        pid: int,
        *,
        at: datetime | None = None,
        is_other: bool = False,
    ) -> None:
        """Note a process of an attempt of this session."""
        record = self._open_attempts[path, number]
        begun = record.started if at is None else at
        if is_other or (begun - record.started).total_seconds() > _WITH_IT_S:
            processes = {**(record.processes or {}), str(pid): begun.timestamp()}
            record = replace(record, processes=processes)
        self._note_attempt(record if is_other else replace(record, pid=pid))

    def attempt_ended(
        self,
        path: str,
        number: int,
        *,
        status: AttemptStatus,
        finished: datetime,
        exit_code: int | None = None,
        message: str | None = None,
        cpu_s: float | None = None,
        peak_bytes: int | None = None,
        node: str | None = None,
    ) -> None:
        """Note how an attempt ended: one of this session, or one that a dead session left."""
        end = {
            "status": status,
            "finished": finished,
            "exit_code": exit_code,
            "message": message,
            "cpu_s": cpu_s,
            "peak_bytes": peak_bytes,
        }
        if node is not None:
            end["node"] = node
        record = self._open_attempts.get((path, number))
        if record is None:
            self._foreign_ends[path, number] = end
            return
        self._note_attempt(replace(record, **end))  # type: ignore[arg-type]  # values of the fields
        del self._open_attempts[path, number]

    def _note_attempt(self, record: AttemptRecord) -> None:
        key = record.path, record.number
        self._attempt_rows[key] = self._attempts.row(record)
        self._open_attempts[key] = record

    def step_ended(self, record: StepRecord, objects: Iterable[str] = ()) -> None:
        """Note how an instance of a step ended, in place of what was known of it."""
        self._step_rows[record.path] = self._steps.row(record)
        for digest in objects:
            self._object_rows.append(self._objects.row(_Held(digest)))

    def forget_inside(self, path: str) -> None:
        """Note that nothing holds any more of the steps inside a step; attempts are kept."""
        inside = path + "/"
        for known in [known for known in self._step_rows if known.startswith(inside)]:
            del self._step_rows[known]
        self._forgotten.append(path)

    def forget(self, paths: Iterable[str]) -> None:
        """Note that nothing holds any more of some steps; attempts are kept."""
        for path in paths:
            self._step_rows.pop(path, None)
            self._gone.append(path)

    def cache_decided(self, decision: CacheDecision) -> None:
        """Note what the cache did."""
        self._decision_rows.append(self._decisions.row(decision))

    def run_updated(
        self,
        *,
        status: RunStatus | None = None,
        message: str | None = None,
        outputs: Mapping[str, Json] | None = None,
        finished: datetime | None = None,
        place: Mapping[str, Json] | None = None,
    ) -> None:
        """Note how the run stands; what is None stays as it is."""
        values = {
            "status": status,
            "message": message,
            "outputs": outputs,
            "finished": finished,
            "place": place,
        }
        self._run_values |= {name: value for name, value in values.items() if value is not None}

    def run_reopened(self) -> None:
        """Note that a run that had ended goes on, so that its end holds no more."""
        self._run_values = {"status": "running", "message": None, "outputs": {}, "finished": None}

    def session_ended(self, status: SessionStatus, *, finished: datetime | None = None) -> None:
        """Note that this process stops to work on the run, now if `finished` is None."""
        self._session_values = {"status": status, "finished": finished or datetime.now(UTC)}

    def flush(self) -> None:
        """Write what was noted, in one transaction, and return when it is safe on the disk."""
        if self.is_empty:
            return
        connection, has_rare = self._connection, self._has_rare
        with (
            explain_faults(self._place, f"record run {self.run_id}"),
            _transaction(connection, through_driver=not (has_rare or self._is_shared)) as write,
        ):
            if self._is_shared:
                self._refuse_late(connection)
            if self._forgotten:
                self._forget(connection)
            if self._gone:
                gone = steps.c.run_id == self.run_id, steps.c.path == sa.bindparam("gone")
                connection.execute(
                    sa.delete(steps).where(*gone), [{"gone": path} for path in self._gone]
                )
            self._steps.write(write, self._step_rows.values())
            self._attempts.write(write, self._attempt_rows.values())
            self._decisions.write(write, self._decision_rows)
            self._objects.write(write, self._object_rows)
            if has_rare:
                self._write_rare(connection)
        self._clear()

    def close(self) -> None:
        """Give the connection back. What was not flushed is lost."""
        self._connection.close()

    def __enter__(self) -> t.Self:
        return self

    def __exit__(self, *_exception: object) -> None:
        self.close()

    def _refuse_late(self, connection: sa.Connection) -> None:
        lock_run(connection, self.run_id)
        later = sessions.c.run_id == self.run_id, sessions.c.number > self.session
        if connection.execute(sa.select(sessions.c.number).where(*later)).first() is not None:
            raise RunBusyError(
                f"{self.run_id}: another process has gone on with it meanwhile. `couler status "
                f"{self.run_id}` shows how it stands"
            )

    def _forget(self, connection: sa.Connection) -> None:
        # "0" follows "/": what lies between begins with the path and a slash, letters as they are.
        inside = sa.and_(
            steps.c.run_id == self.run_id,
            steps.c.path > sa.bindparam("first"),
            steps.c.path < sa.bindparam("end"),
        )
        bounds = [{"first": f"{path}/", "end": f"{path}0"} for path in self._forgotten]
        connection.execute(sa.delete(steps).where(inside), bounds)

    def _write_rare(self, connection: sa.Connection) -> None:
        for (path, number), end in self._foreign_ends.items():
            key = {"run_id": self.run_id, "path": path, "number": number}
            connection.execute(sa.update(attempts).filter_by(**key).values(end))
        if self._run_values:
            connection.execute(sa.update(runs).filter_by(id=self.run_id).values(self._run_values))
        if self._session_values:
            key = {"run_id": self.run_id, "number": self.session}
            connection.execute(sa.update(sessions).filter_by(**key).values(self._session_values))


class _Held(t.NamedTuple):
    """An object that a run needs."""

    digest: str
    of_cache: bool = False


@contextmanager
def _transaction(connection: sa.Connection, *, through_driver: bool) -> Iterator[_Write]:
    """Give what writes rows in one transaction."""
    if not through_driver or connection.dialect.name != "sqlite":
        with connection.begin():
            yield connection.exec_driver_sql
        return
    driver = t.cast(sqlite3.Connection, connection.connection.driver_connection)
    driver.execute("BEGIN IMMEDIATE")
    try:
        yield driver.executemany
        driver.execute("COMMIT")
    finally:
        if driver.in_transaction:  # it was not committed
            driver.execute("ROLLBACK")


class _RowWriter:
    """A statement that writes records of one kind."""

    def __init__(
        self,
        statement: sa.Insert,
        dialect: sa.Dialect,
        run_id: str,
        *,
        leave: str | None = None,
    ) -> None:
        columns = [column.name for column in statement.table.columns if column.name != leave]
        compiled = statement.compile(dialect=dialect, column_keys=columns)
        self._sql = str(compiled)
        self._names = [name for name in columns if name != "run_id"]
        self._values_of = attrgetter(*self._names)
        self._run_id = run_id
        types = [statement.table.columns[name].type.dialect_impl(dialect) for name in self._names]
        self._processors = [
            (index, process)
            for index, kind in enumerate(types)
            if (process := kind.bind_processor(dialect)) is not None
        ]
        self._is_positional = dialect.positional

    def row(self, record: StepRecord | AttemptRecord | CacheDecision | _Held) -> _Row:
        """Make the values of a record ready for the driver."""
        values = list(self._values_of(record))
        for index, process in self._processors:
            if (value := values[index]) is not None:  # every type leaves None as it is
                values[index] = process(value)
        if self._is_positional:  # run_id is the first column of every table here
            return (self._run_id, *values)
        return {"run_id": self._run_id, **dict(zip(self._names, values, strict=True))}

    def write(self, write: _Write, rows: Iterable[_Row]) -> None:
        """Write rows, if there are any."""
        listed = list(rows)
        if listed:
            write(self._sql, listed)
