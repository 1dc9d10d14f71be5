"""What is asked of engines that work on runs: sent by one process, taken by another."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime

import sqlalchemy as sa

from couler.state.database import Database
from couler.state.records import Signal, SignalKind
from couler.state.runs import read_run
from couler.state.tables import signals
from couler.state.upsert import upsert


def send_signal(
    database: Database,
    run_id: str,
    path: str,
    kind: SignalKind,
    *,
    entered: Mapping[str, str] | None = None,
) -> None:
    """Ask something of the engine that works on a run; asking twice is asking once."""
    with database.write() as connection:
        read_run(connection, run_id)
        statement = upsert(signals, database.dialect, update=())
        connection.execute(
            statement.values(
                run_id=run_id,
                path=path,
                kind=kind,
                created=datetime.now(UTC),
                entered=None if entered is None else dict(entered),
            )
        )


def take_signals(database: Database, run_id: str) -> list[Signal]:
    """Return what was asked since the last call, in the order of the asking, and forget it."""
    query = (
        sa.select(signals.c.path, signals.c.kind, signals.c.created, signals.c.entered)
        .where(signals.c.run_id == run_id)
        .order_by(signals.c.created, signals.c.path)
    )
    # Mostly there is nothing: an engine that looks often does not hold up those that write.
    with database.read() as connection:
        if connection.execute(query.limit(1)).first() is None:
            return []
    with database.write() as connection:
        taken = [Signal(**row) for row in connection.execute(query).mappings()]
        connection.execute(sa.delete(signals).where(signals.c.run_id == run_id))
    return taken
