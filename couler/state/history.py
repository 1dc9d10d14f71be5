"""What instances of steps took and gave in earlier runs."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

import sqlalchemy as sa

from couler.state.database import Database
from couler.state.records import Json, StepStatus
from couler.state.tables import attempts, runs, sessions, steps, workflows


@dataclass(frozen=True, slots=True)
class Instance:
    """An instance of a step that ran and succeeded."""

    run_id: str
    path: str
    engine: str
    is_here: bool
    seconds: float
    outputs: Mapping[str, Json]


@dataclass(frozen=True, slots=True)
class End:
    """How an instance of a step that runs something ended well."""

    workflow: str
    path: str
    status: StepStatus
    seconds: float | None
    outputs: Mapping[str, Json]


@dataclass(frozen=True, slots=True)
class Try:
    """An attempt of a step that succeeded."""

    workflow_digest: str
    path: str
    is_here: bool
    seconds: float
    node: str | None


def list_tries(database: Database, *, runs_at_most: int, latest: int, at_most: int) -> list[Try]:
    """Return attempts that succeeded, of workflows that state operations, the latest first."""
    # What no step states of its operations nobody can divide by its seconds.
    wanted = (
        sa.select(runs.c.id, runs.c.target)
        .join(workflows, workflows.c.digest == runs.c.workflow_digest)
        .where(workflows.c.ir.contains('"operations"', autoescape=True))
        .order_by(runs.c.number.desc(), runs.c.id)
        .limit(runs_at_most)
        .subquery()
    )
    of_session = sa.and_(
        sessions.c.run_id == attempts.c.run_id, sessions.c.number == attempts.c.session
    )
    of_step = sa.and_(steps.c.run_id == attempts.c.run_id, steps.c.path == attempts.c.path)
    order = (attempts.c.finished.desc(), wanted.c.id, attempts.c.path, attempts.c.number.desc())
    number = sa.func.row_number().over(
        partition_by=(
            *(sessions.c.workflow_digest, steps.c.name, attempts.c.node),
            wanted.c.target.is_(None),
        ),
        order_by=order,
    )
    found = (
        sa.select(
            *(wanted.c.id, wanted.c.target, sessions.c.workflow_digest),
            *(attempts.c.path, attempts.c.number, attempts.c.node),
            *(attempts.c.started, attempts.c.finished, number.label("place_in_time")),
        )
        .join(attempts, attempts.c.run_id == wanted.c.id)
        .join(sessions, of_session)
        .join(steps, of_step)
        .where(attempts.c.status == "succeeded", attempts.c.finished.is_not(None))
        .subquery()
    )
    query = (
        sa.select(found)
        .where(found.c.place_in_time <= latest)
        .order_by(found.c.finished.desc(), found.c.id, found.c.path, found.c.number.desc())
        .limit(at_most)
    )
    with database.read() as connection:
        return [
            Try(
                workflow_digest=row.workflow_digest,
                path=row.path,
                is_here=row.target is None,
                seconds=(row.finished - row.started).total_seconds(),
                node=row.node,
            )
            for row in connection.execute(query)
        ]


def workflows_of(database: Database, digests: Iterable[str]) -> dict[str, str]:
    """Return the IR, as JSON, of workflows by their digests."""
    query = sa.select(workflows.c.digest, workflows.c.ir).where(workflows.c.digest.in_(digests))
    with database.read() as connection:
        return {row.digest: row.ir for row in connection.execute(query)}


def list_ends(database: Database, engine: str, *, latest: int) -> list[End]:
    """Return ends in the latest runs of an engine, by workflow, path and time, the first first."""
    wanted = (
        sa.select(runs.c.id, runs.c.workflow)
        .where(runs.c.engine == engine)
        .order_by(runs.c.number.desc(), runs.c.id)
        .limit(latest)
        .subquery()
    )
    ran = sa.or_(steps.c.status == "cached", steps.c.attempts > 0)  # groups are not tried
    query = (
        sa.select(
            *(wanted.c.workflow, steps.c.path, steps.c.status, steps.c.outputs),
            *(steps.c.started, steps.c.finished),
        )
        .join(steps, steps.c.run_id == wanted.c.id)
        .where(steps.c.status.in_(("succeeded", "cached")), ran)
        .order_by(wanted.c.workflow, steps.c.path, steps.c.finished, wanted.c.id)
    )
    with database.read() as connection:
        return [
            End(
                workflow=row.workflow,
                path=row.path,
                status=row.status,
                seconds=row.started and (row.finished - row.started).total_seconds(),
                outputs=row.outputs,
            )
            for row in connection.execute(query)
        ]


def list_instances(database: Database, workflow: str, *, latest: int) -> list[Instance]:
    """Return instances of steps of a workflow that ran and succeeded, the latest first."""
    ended = attempts.c.finished
    number = sa.func.row_number().over(
        partition_by=(runs.c.engine, steps.c.path),
        order_by=(ended.desc(), runs.c.id, attempts.c.number.desc()),
    )
    found = (
        sa.select(
            *(runs.c.id, steps.c.path, runs.c.engine, runs.c.target, steps.c.outputs),
            *(attempts.c.started, ended, number.label("place_in_time")),
        )
        .join(steps, steps.c.run_id == runs.c.id)
        .join(attempts, sa.and_(attempts.c.run_id == runs.c.id, attempts.c.path == steps.c.path))
        .where(runs.c.workflow == workflow, ended.is_not(None))
        .where(steps.c.status == "succeeded", attempts.c.status == "succeeded")
        .subquery()
    )
    query = sa.select(found).where(found.c.place_in_time <= latest)
    with database.read() as connection:
        rows = connection.execute(query.order_by(found.c.finished.desc(), found.c.id, found.c.path))
        return [
            Instance(
                run_id=row.id,
                path=row.path,
                engine=row.engine,
                is_here=row.target is None,
                seconds=(row.finished - row.started).total_seconds(),
                outputs=row.outputs,
            )
            for row in rows
        ]
