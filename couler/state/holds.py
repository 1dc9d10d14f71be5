"""Which objects of the store runs need, whatever becomes of the cache's entries."""

from __future__ import annotations

import typing as t
from collections.abc import Collection, Iterable

import sqlalchemy as sa

from couler.state.database import Database
from couler.state.tables import cache_garbage, cache_objects, run_objects, runs
from couler.state.upsert import upsert

MANY = 500
"""How many values one statement compares with; databases have a limit."""


def hold_objects(
    database: Database, run_id: str, digests: Iterable[str], *, of_cache: bool
) -> None:
    """Record that a run needs objects, in a transaction of its own; see `add_holds`."""
    listed = tuple(digests)
    if listed:
        with database.write() as connection:
            lock_cache(connection)
            add_holds(connection, run_id, listed, of_cache=of_cache)


def add_holds(
    connection: sa.Connection, run_id: str, digests: Iterable[str], *, of_cache: bool
) -> None:
    """Record that a run needs objects."""
    rows = [
        {"run_id": run_id, "digest": digest, "of_cache": of_cache}
        for digest in dict.fromkeys(digests)
    ]
    if rows:
        update = () if of_cache else ("of_cache",)
        connection.execute(upsert(run_objects, connection.dialect, update=update), rows)


def release_runs(database: Database) -> bool:
    """Leave what succeeded runs hold of the cache to the cache alone."""
    with database.read() as connection:
        held = sa.select(run_objects.c.digest).where(_released())
        if connection.execute(held.limit(1)).first() is None:
            return False
    with database.write() as connection:
        lock_cache(connection)
        release_holds(connection)
    return True


def release_holds(connection: sa.Connection) -> None:
    """Do as `release_runs` does, in a transaction that has locked the cache."""
    is_kept = sa.exists().where(cache_objects.c.digest == run_objects.c.digest)
    note_garbage(connection, sa.select(run_objects.c.digest).where(_released(), ~is_kept))
    connection.execute(sa.delete(run_objects).where(_released()))


def _released() -> sa.ColumnElement[bool]:
    succeeded = sa.select(runs.c.id).where(runs.c.status == "succeeded")
    return sa.and_(run_objects.c.of_cache, run_objects.c.run_id.in_(succeeded))


def note_garbage(connection: sa.Connection, digests: sa.Select[tuple[str]]) -> None:
    """Note objects that perhaps nobody needs any more; `couler.state.leftovers` deletes them."""
    statement = upsert(cache_garbage, connection.dialect, update=())
    connection.execute(statement.from_select(["digest"], digests.distinct()))


def strike_needed(connection: sa.Connection) -> None:
    """Strike those off the garbage that an entry or a run needs."""
    connection.execute(sa.delete(cache_garbage).where(is_needed()))


_NEEDED = cache_objects, run_objects
"""Who needs an object has a row in one of these: an entry, or a run."""


def is_needed() -> sa.ColumnElement[bool]:
    """Return whether an entry or a run needs what is noted as garbage."""
    garbage = cache_garbage.c.digest
    return sa.or_(*(sa.exists().where(table.c.digest == garbage) for table in _NEEDED))


def needed_objects(connection: sa.Connection, *, leave_out: Collection[str] = ()) -> set[str]:
    """Return the objects that an entry or a run needs."""
    of_entries = connection.execute(sa.select(cache_objects.c.key, cache_objects.c.digest))
    needed = {digest for key, digest in of_entries if key not in leave_out}
    return needed.union(connection.execute(sa.select(run_objects.c.digest)).scalars())


class HeldObject(t.NamedTuple):
    """An object that a run needs and that no entry has."""

    run_id: str
    has_succeeded: bool
    digest: str


def held_beside_entries(database: Database) -> list[HeldObject]:
    """Return what runs need that no entry has."""
    is_kept = sa.exists().where(cache_objects.c.digest == run_objects.c.digest)
    query = (
        sa.select(runs.c.id, runs.c.status == "succeeded", run_objects.c.digest)
        .join_from(run_objects, runs)
        .where(~is_kept)
    )
    with database.read() as connection:
        return list(map(HeldObject._make, connection.execute(query)))


def strike_off(database: Database, digests: Collection[str]) -> None:
    """Strike objects off the garbage that are deleted."""
    for some in portions(digests):
        with database.write() as connection:
            connection.execute(sa.delete(cache_garbage).where(cache_garbage.c.digest.in_(some)))


_LOCK = 7_236_418_150_012
"""Key of the advisory lock of those who decide what the cache keeps, in PostgreSQL."""


def lock_cache(connection: sa.Connection) -> None:
    """Block other decisions about the cache, and new sessions, until the transaction ends."""
    if connection.dialect.name == "postgresql":
        connection.execute(sa.select(sa.func.pg_advisory_xact_lock(_LOCK)))


def portions(values: Collection[str]) -> t.Iterator[list[str]]:
    """Yield values in lists that a statement can compare with."""
    listed = list(values)
    for start in range(0, len(listed), MANY):
        yield listed[start : start + MANY]
