"""Deletes the objects of the store that the cache has given up."""

from __future__ import annotations

import typing as t
from datetime import UTC, datetime, timedelta
from pathlib import Path

import sqlalchemy as sa

from couler.state.database import Database
from couler.state.holds import is_needed, lock_cache, strike_needed
from couler.state.ownership import owner_of
from couler.state.tables import cache_garbage, runs, sessions

if t.TYPE_CHECKING:
    from couler.store import ObjectStore

SILENCE = timedelta(hours=1)
"""When an engine of another machine that gave no sign of life for so long is taken to be dead."""

_AT_ONCE = 100
"""How many objects are deleted in one transaction, which others wait for."""


class Swept(t.NamedTuple):
    """How many leftover objects were deleted, and their size."""

    objects: int
    size_bytes: int
    waiting: int
    """How many objects could not be deleted yet, for the sake of sessions under way."""


def sweep_garbage(database: Database, store: ObjectStore, *, host: str) -> Swept:
    """Delete what the cache has given up and nobody needs."""
    objects = size_bytes = waiting = 0
    last = ""
    while not _is_empty(database, last):
        with database.write() as connection:
            lock_cache(connection)
            if not last:
                strike_needed(connection)
            noted = _noted(connection, last, ~is_needed())  # since the last transaction, too
            before = _deletable_before(connection, store, host)
            gone = []
            for digest in noted:
                size = store.size_of(digest)
                if size is not None and not store.delete(digest, before=before):
                    waiting += 1
                    continue
                gone.append(digest)
                if size is not None:
                    objects += 1
                    size_bytes += size
            connection.execute(sa.delete(cache_garbage).where(cache_garbage.c.digest.in_(gone)))
        if len(noted) < _AT_ONCE:
            break
        last = noted[-1]
    return Swept(objects, size_bytes, waiting)


class Garbage(t.NamedTuple):
    """What `sweep_garbage` would look at."""

    digests: frozenset[str]
    before: float | None
    """When an object must have been written last, in seconds of the Unix epoch; None if ever."""


def list_garbage(connection: sa.Connection, store: ObjectStore, *, host: str) -> Garbage:
    """Return what is noted and nobody needs; the arguments are those of `sweep_garbage`."""
    noted = connection.execute(sa.select(cache_garbage.c.digest).where(~is_needed())).scalars()
    return Garbage(frozenset(noted), _deletable_before(connection, store, host))


def _is_empty(database: Database, last: str) -> bool:
    with database.read() as connection:
        return not _noted(connection, last, limit=1)


def _noted(
    connection: sa.Connection, last: str, *wanted: sa.ColumnElement[bool], limit: int = _AT_ONCE
) -> list[str]:
    query = sa.select(cache_garbage.c.digest).where(cache_garbage.c.digest > last, *wanted)
    return list(connection.execute(query.order_by(cache_garbage.c.digest).limit(limit)).scalars())


def _deletable_before(connection: sa.Connection, store: ObjectStore, host: str) -> float | None:
    first = _first_session(connection, host)
    return None if first is None else first.timestamp() - store.lag_s


def _first_session(connection: sa.Connection, host: str) -> datetime | None:
    """Return when the first of the sessions under way began; None if there is none."""
    silent_since = datetime.now(UTC) - SILENCE
    query = (
        sa.select(runs.c.folder, sessions.c.host, sessions.c.started, sessions.c.seen)
        .join_from(sessions, runs)
        .where(sessions.c.status == "running", runs.c.status == "running")
        .where(runs.c.target.is_(None))
        .order_by(sessions.c.started)
    )
    for folder, where, started, seen in connection.execute(query):
        if where != host:
            lives = (seen or started) > silent_since
        else:
            lives = folder is None or owner_of(Path(folder)) is not None
        if lives:
            return t.cast("datetime", started)
    return None
