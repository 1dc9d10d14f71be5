"""Runs in the database: made, found, read and deleted."""

from __future__ import annotations

import difflib
import typing as t
from collections.abc import Callable, Mapping
from dataclasses import fields
from datetime import datetime

import sqlalchemy as sa

from couler.errors import RunBusyError, RunExistsError, RunNotFoundError
from couler.ir.source_map import NO_CHANGE, SourceMap
from couler.state.database import Database
from couler.state.decisions import keep_counts
from couler.state.holds import lock_cache, note_garbage
from couler.state.records import (
    AttemptRecord,
    AttemptStatus,
    CacheDecision,
    Json,
    RunRecord,
    RunStatus,
    SessionRecord,
    Standing,
    StepRecord,
)
from couler.state.source_maps import put_source_map
from couler.state.tables import (
    attempts,
    cache_decisions,
    run_objects,
    runs,
    sessions,
    signals,
    steps,
    workflows,
)
from couler.state.upsert import upsert

LATEST = "latest"
"""What `find_run` takes for the run that was made last."""

_NAMED = 5
"""How many runs an error names."""


def create_run(
    database: Database, run: RunRecord, ir_json: str, *, source_map: SourceMap = NO_CHANGE
) -> None:
    """Record a run that is about to begin."""
    with database.write() as connection:
        _add_workflow(connection, run.workflow_digest, run.workflow, ir_json, run.created)
        last = sa.select(sa.func.coalesce(sa.func.max(runs.c.number), 0)).scalar_subquery()
        values = _values(run) | {"number": last + 1}
        statement = upsert(runs, connection.dialect, update=()).values(values)
        # Of an insertion into PostgreSQL it is not told else.
        counted = {"preserve_rowcount": True}
        if connection.execute(statement, execution_options=counted).rowcount == 0:
            raise RunExistsError(f"there is a run {run.id} already")
        if source_map:
            put_source_map(connection, run.id, run.workflow_digest, source_map)


def begin_session(
    database: Database,
    run_id: str,
    *,
    pid: int,
    host: str,
    started: datetime,
    options: Mapping[str, Json] | None = None,
    workflow_digest: str | None = None,
    ir_json: str | None = None,
    source_map: SourceMap = NO_CHANGE,
    parameters: Mapping[str, Json] | None = None,
    expected: Standing | None = None,
) -> int:
    """Record that a process works on a run, which is `running` from now on."""
    with database.write() as connection:
        lock_cache(connection)  # what it will write is safe from those who delete
        lock_run(connection, run_id)
        run = read_run(connection, run_id)
        last = _last_session(connection, run_id)
        if expected not in (None, Standing(run.status, last)):
            raise RunBusyError(
                f"{run_id}: another process has gone on with it meanwhile; it is {run.status} now. "
                f"`couler status {run_id}` shows how it stands"
            )
        digest = run.workflow_digest if workflow_digest is None else workflow_digest
        if ir_json is not None:
            _add_workflow(connection, digest, run.workflow, ir_json, started)
            put_source_map(connection, run_id, digest, source_map)
        mine = sessions.c.run_id == run_id
        connection.execute(
            sa.update(sessions)
            .where(mine, sessions.c.status == "running")
            .values(status="interrupted")
        )
        connection.execute(sa.delete(signals).where(signals.c.run_id == run_id))
        session = SessionRecord(
            run_id=run_id,
            number=last + 1,
            pid=pid,
            host=host,
            started=started,
            options=options or {},
            workflow_digest=digest,
        )
        connection.execute(sa.insert(sessions).values(_values(session)))
        changed: dict[str, t.Any] = {
            "status": "running",
            "workflow_digest": digest,
            "host": host,
            "started": run.started or started,
            "finished": None,
            "message": None,
            "outputs": {},
        }
        if parameters is not None:
            changed["parameters"] = parameters
        connection.execute(sa.update(runs).where(runs.c.id == run_id).values(changed))
    return session.number


def note_session(database: Database, run_id: str, number: int, seen: datetime) -> None:
    """Record that a session goes on."""
    mine = sessions.c.run_id == run_id, sessions.c.number == number
    with database.write() as connection:
        connection.execute(sa.update(sessions).where(*mine).values(seen=seen))


def standing_of(database: Database, run_id: str) -> Standing:
    """Return how a run stands, for what is decided on it (`begin_session`)."""
    with database.read() as connection:
        return Standing(read_run(connection, run_id).status, _last_session(connection, run_id))


def change_run(
    database: Database,
    run_id: str,
    change: Callable[[RunRecord], Mapping[str, t.Any] | None],
    *,
    session: int | None = None,
) -> bool:
    """Write what follows from how a run stands, which nobody else changes meanwhile."""
    with database.write() as connection:
        lock_run(connection, run_id)
        run = read_run(connection, run_id)
        if session is not None and _last_session(connection, run_id) > session:
            return False
        values = change(run)
        if values is None:
            return False
        connection.execute(sa.update(runs).where(runs.c.id == run_id).values(values))
        return True


def restore_run(database: Database, run: RunRecord, session: int) -> None:
    """Record a run as it was, its workflow and parameters too: a session on it came to nothing."""
    change_run(database, run.id, lambda _: _values(run), session=session)


def lock_run(connection: sa.Connection, run_id: str) -> None:
    """Let no other write the run until this transaction ends; with SQLite none does anyway."""
    connection.execute(sa.select(runs.c.id).where(runs.c.id == run_id).with_for_update())


def _last_session(connection: sa.Connection, run_id: str) -> int:
    query = sa.select(sa.func.max(sessions.c.number)).where(sessions.c.run_id == run_id)
    last: int | None = connection.execute(query).scalar()
    return last or 0


def find_run(database: Database, text: str) -> RunRecord:
    """Find the run that a user names."""
    with database.read() as connection:
        found = _runs(connection, runs.c.id == text)
        if not found and text == LATEST:
            found = _runs(connection, sa.true(), limit=1)
            if not found:
                raise RunNotFoundError("there is no run yet: `couler run FILE` makes one")
        if not found and text:
            is_prefix = sa.func.substr(runs.c.id, 1, len(text)) == text
            found = _runs(connection, is_prefix, limit=_NAMED + 1)
        if len(found) == 1:
            return found[0]
        if found:
            raise _several(text, [run.id for run in found])
        raise _none(text, list(connection.execute(_latest(sa.select(runs.c.id), 1000)).scalars()))


def list_runs(
    database: Database,
    *,
    limit: int | None = None,
    workflow: str | None = None,
    status: RunStatus | None = None,
    engine: str | None = None,
) -> list[RunRecord]:
    """Return runs, the latest first."""
    wanted: list[sa.ColumnElement[bool]] = [sa.true()]
    if workflow is not None:
        wanted.append(runs.c.workflow == workflow)
    if status is not None:
        wanted.append(runs.c.status == status)
    if engine is not None:
        wanted.append(runs.c.engine == engine)
    with database.read() as connection:
        return _runs(connection, sa.and_(*wanted), limit=limit)


def workflow_of(database: Database, run_id: str) -> str:
    """Return the IR, as JSON, of a run's latest session."""
    query = sa.select(workflows.c.ir).join(runs).where(runs.c.id == run_id)
    with database.read() as connection:
        ir: str | None = connection.execute(query).scalar()
    if ir is None:
        raise RunNotFoundError(f'there is no run "{run_id}"')
    return ir


def sessions_of(database: Database, run_id: str) -> list[SessionRecord]:
    """Return the sessions of a run, the first first."""
    query = sa.select(sessions).where(sessions.c.run_id == run_id).order_by(sessions.c.number)
    with database.read() as connection:
        return [SessionRecord(**row) for row in connection.execute(query).mappings()]


def steps_of(database: Database, run_id: str) -> list[StepRecord]:
    """Return how the steps of a run ended, in the order in which they did."""
    wanted = [column for column in steps.columns if column.name != "run_id"]
    order = steps.c.session, steps.c.ordinal, steps.c.path
    query = sa.select(*wanted).where(steps.c.run_id == run_id).order_by(*order)
    with database.read() as connection:
        return [_step(row) for row in connection.execute(query).mappings()]


def attempts_of(
    database: Database,
    run_id: str,
    *,
    path: str | None = None,
    status: AttemptStatus | None = None,
) -> list[AttemptRecord]:
    """Return the attempts of a run's steps, by path and number."""
    wanted = [column for column in attempts.columns if column.name != "run_id"]
    order = attempts.c.path, attempts.c.number
    query = sa.select(*wanted).where(attempts.c.run_id == run_id).order_by(*order)
    if path is not None:
        query = query.where(attempts.c.path == path)
    if status is not None:
        query = query.where(attempts.c.status == status)
    with database.read() as connection:
        return [AttemptRecord(**row) for row in connection.execute(query).mappings()]


def cache_decisions_of(database: Database, run_id: str) -> list[CacheDecision]:
    """Return what the cache did in a run, in that order."""
    table = cache_decisions.c
    query = (
        sa.select(table.path, table.key, table.decision, table.reason, table.at)
        .where(table.run_id == run_id)
        .order_by(table.number)
    )
    with database.read() as connection:
        return [CacheDecision(**row) for row in connection.execute(query).mappings()]


def latest_decider(database: Database) -> RunRecord | None:
    """Return the run in which the cache decided something last; None if none is known."""
    table = cache_decisions.c
    with database.read() as connection:
        query = sa.select(table.run_id).where(table.run_id.is_not(None))
        run_id = connection.execute(query.order_by(table.number.desc()).limit(1)).scalar()
        return None if run_id is None else read_run(connection, run_id)


def delete_run(database: Database, run_id: str) -> None:
    """Delete a run and what is known of it; its folder and what it left in the cache stay."""
    with database.write() as connection:
        read_run(connection, run_id)
        lock_cache(connection)
        held = sa.select(run_objects.c.digest).where(run_objects.c.run_id == run_id)
        note_garbage(connection, held)
        keep_counts(connection, run_id)
        connection.execute(sa.delete(runs).where(runs.c.id == run_id))
        unused = sa.and_(
            ~sa.exists().where(runs.c.workflow_digest == workflows.c.digest),
            ~sa.exists().where(sessions.c.workflow_digest == workflows.c.digest),
        )
        connection.execute(sa.delete(workflows).where(unused))


def _add_workflow(
    connection: sa.Connection, digest: str, name: str, ir_json: str, created: datetime
) -> None:
    statement = upsert(workflows, connection.dialect, update=())
    connection.execute(statement.values(digest=digest, name=name, ir=ir_json, created=created))


def _values(record: RunRecord | SessionRecord) -> dict[str, t.Any]:
    return {field.name: getattr(record, field.name) for field in fields(record)}


def _step(row: t.Any) -> StepRecord:
    item = row["item"]
    return StepRecord(**{**row, "item": None if item is None else tuple(item)})


def read_run(connection: sa.Connection, run_id: str) -> RunRecord:
    """Return the run of an id."""
    found = _runs(connection, runs.c.id == run_id)
    if not found:
        raise RunNotFoundError(f'there is no run "{run_id}"')
    return found[0]


def _runs(
    connection: sa.Connection, wanted: sa.ColumnElement[bool], limit: int | None = None
) -> list[RunRecord]:
    columns = (runs.c[field.name] for field in fields(RunRecord))
    query = _latest(sa.select(*columns).where(wanted), limit)
    return [RunRecord(**row) for row in connection.execute(query).mappings()]


_Select = t.TypeVar("_Select", bound=sa.Select[t.Any])


def _latest(query: _Select, limit: int | None) -> _Select:
    query = query.order_by(runs.c.number.desc(), runs.c.id)
    return query if limit is None else query.limit(limit)


def _several(text: str, ids: list[str]) -> RunNotFoundError:
    named = ", ".join(ids[:_NAMED]) + (", ..." if len(ids) > _NAMED else "")
    return RunNotFoundError(f'several runs begin with "{text}": {named}. Write more of the name')


def _none(text: str, ids: list[str]) -> RunNotFoundError:
    near = difflib.get_close_matches(text, ids, n=_NAMED, cutoff=0.5)
    hint = f"The nearest: {', '.join(near)}" if near else "`couler list` shows all"
    return RunNotFoundError(f'there is no run "{text}". {hint}')
