"""Deletes the objects of the store that the cache has given up.

What is evicted, or left by a run that has succeeded, is noted in the transaction that gives it up.
Its objects are deleted after that, again in a transaction: none of them is needed by an entry or a
run then, and nobody can begin to need it meanwhile, because whoever takes an entry records in a
transaction that it does. What is made anew is safe as well: it is written after its session has
begun, which is recorded in a transaction too, and objects that were written since the first of the
sessions under way are not deleted.

If this is interrupted, what was noted is still noted, and whoever comes next goes on.
"""

from __future__ import annotations

import typing as t
from pathlib import Path

import sqlalchemy as sa

from couler.state.database import Database
from couler.state.holds import lock_cache, strike_needed
from couler.state.ownership import owner_of
from couler.state.tables import cache_garbage, runs, sessions

if t.TYPE_CHECKING:
    from datetime import datetime

_AT_ONCE = 100
"""How many objects are deleted in one transaction, which others wait for."""


class Objects(t.Protocol):
    """What is asked of an artifact store (`couler.store.ObjectStore`)."""

    @property
    def lag_s(self) -> float:
        """How much older than its last writer an object may look, in seconds."""

    def delete(self, digest: str, *, before: float | None = None) -> bool:
        """Delete an object that was last touched before a time; tell whether it did."""

    def has(self, digest: str) -> bool:
        """Tell whether an object is there."""


def sweep_garbage(
    database: Database, store: Objects, *, host: str, since: datetime | None = None
) -> int:
    """Delete what the cache has given up and nobody needs.

    Parameters
    ----------
    database, store
        Where it is noted, and the objects.
    host
        This machine: whether sessions of others live cannot be seen here.
    since
        When the first session under way began, if that is known; None to look.

    Returns
    -------
    int
        How many objects were deleted.

    Raises
    ------
    StoreError
        The store cannot be reached; nothing is struck off.
    StateError
        The database cannot be used.
    """
    deleted, last = 0, ""
    while True:
        if _is_empty(database, last):
            return deleted
        with database.write() as connection:
            lock_cache(connection)
            if not last:
                strike_needed(connection)
            noted = _noted(connection, last)
            before = since or _first_session(connection, host)
            limit = None if before is None else before.timestamp() - store.lag_s
            gone = []
            for digest in noted:
                is_deleted = store.delete(digest, before=limit)
                deleted += is_deleted
                if is_deleted or not store.has(digest):
                    gone.append(digest)
            connection.execute(sa.delete(cache_garbage).where(cache_garbage.c.digest.in_(gone)))
        if len(noted) < _AT_ONCE:
            return deleted
        last = noted[-1]


def _is_empty(database: Database, last: str) -> bool:
    with database.read() as connection:
        return not _noted(connection, last, limit=1)


def _noted(connection: sa.Connection, last: str, *, limit: int = _AT_ONCE) -> list[str]:
    query = sa.select(cache_garbage.c.digest).where(cache_garbage.c.digest > last)
    return list(connection.execute(query.order_by(cache_garbage.c.digest).limit(limit)).scalars())


def _first_session(connection: sa.Connection, host: str) -> datetime | None:
    """Return when the first of the sessions under way began; None if there is none.

    One of this machine whose engine is dead writes nothing any more.
    """
    query = (
        sa.select(runs.c.folder, sessions.c.host, sessions.c.started)
        .join_from(sessions, runs)
        .where(sessions.c.status == "running", runs.c.status == "running")
        .where(runs.c.target.is_(None))
        .order_by(sessions.c.started)
    )
    for folder, where, started in connection.execute(query):
        if where != host or folder is None or owner_of(Path(folder)) is not None:
            return t.cast("datetime", started)
    return None
