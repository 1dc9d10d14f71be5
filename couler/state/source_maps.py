"""Where in runs the steps of their programs are, as it is kept of each run."""

from __future__ import annotations

import sqlalchemy as sa

from couler.ir.source_map import NO_CHANGE, SourceMap
from couler.state.database import Database
from couler.state.tables import runs, source_maps
from couler.state.upsert import upsert


def source_map_of(database: Database, run_id: str) -> SourceMap:
    """Return where in a run the steps of its program are, as of its latest session."""
    query = (
        sa.select(source_maps.c.entries)
        .join(runs, runs.c.id == source_maps.c.run_id)
        .where(runs.c.id == run_id, runs.c.workflow_digest == source_maps.c.workflow_digest)
    )
    with database.read() as connection:
        entries = connection.execute(query).scalar()
    return NO_CHANGE if entries is None else SourceMap.from_json(entries)


def put_source_map(
    connection: sa.Connection, run_id: str, digest: str, source_map: SourceMap
) -> None:
    """Record a map in the place of an earlier one; one that tells of nothing takes no row."""
    key = {"run_id": run_id, "workflow_digest": digest}
    if source_map:
        statement = upsert(source_maps, connection.dialect)
        connection.execute(statement.values(**key, entries=source_map.to_json()))
    else:
        connection.execute(sa.delete(source_maps).filter_by(**key))
