"""The entries of the cache: the outputs of steps by the key of what the steps ran on."""

from __future__ import annotations

import typing as t
from collections.abc import Iterable
from datetime import datetime

import sqlalchemy as sa

from couler.errors import CacheEntryNotFoundError
from couler.state.admission import remove_rows
from couler.state.database import Database
from couler.state.decisions import count_decisions
from couler.state.entries import Entry
from couler.state.holds import is_needed, lock_cache, portions
from couler.state.remembered import forget_outputs
from couler.state.tables import (
    cache_entries,
    cache_garbage,
    cache_gone,
    cache_places,
)


class Stats(t.NamedTuple):
    """What the cache holds and what it was good for."""

    entries: int
    pinned: int
    size_bytes: int
    """Sum over the entries; files that several share count for each."""
    pinned_bytes: int
    """What those take of it that are pinned."""
    hits: int
    """Of all runs, those too that were deleted, as are the following up to `rejected`."""
    passed: int
    """How often a step was passed whose outputs were not kept, as nothing that ran read them."""
    misses: int
    rejected: int
    evicted: int
    """By runs, and between them."""
    saved_s: float
    """How long what was hit or passed had taken to make, in seconds, each time."""
    lost_s: float
    """How long it took to make again what had been evicted, in seconds."""
    garbage: int
    """Files that were given up and that nobody needs, not deleted yet."""


class Removed(t.NamedTuple):
    """What became of entries that were to go; those in neither were gone before."""

    keys: tuple[str, ...]
    """Those that were removed."""
    pinned: tuple[str, ...]
    """Those that stay, as they are pinned."""


def look_up(database: Database, key: str) -> Entry | None:
    """Return the entry of a key, None if there is none."""
    with database.read() as connection:
        found = _entries(connection, cache_entries.c.key == key)
    return found[0] if found else None


def remove_entries(
    database: Database, keys: Iterable[str], *, unused_since: datetime | None = None
) -> Removed:
    """Remove entries that are not pinned; their objects stay."""
    named = list(keys)
    with database.write() as connection:
        lock_cache(connection)
        steps = _named_steps(connection, named) if unused_since is None else []
        for workflow, place in steps:
            of_step = cache_gone.c.workflow == workflow, cache_gone.c.place == place
            forget_outputs(connection, sa.and_(*of_step))
        pinned = _keys(connection, named, cache_entries.c.pinned)
        return Removed(_remove(connection, named, unused_since), pinned)


def pin_entries(database: Database, keys: Iterable[str], *, pinned: bool) -> tuple[str, ...]:
    """Pin entries, so that nothing removes them, or unpin them."""
    table = cache_entries.c
    found: list[str] = []
    with database.write() as connection:
        lock_cache(connection)
        for some in portions(list(keys)):
            named = table.key.in_(some)
            connection.execute(sa.update(cache_entries).where(named).values(pinned=pinned))
            found += connection.execute(sa.select(table.key).where(named)).scalars()
    return tuple(found)


def list_entries(
    database: Database,
    *,
    workflow: str | None = None,
    unused_since: datetime | None = None,
) -> list[Entry]:
    """Return entries, the last used first."""
    wanted: list[sa.ColumnElement[bool]] = [sa.true()]
    if workflow is not None:
        wanted.append(cache_entries.c.workflow == workflow)
    if unused_since is not None:
        wanted.append(cache_entries.c.last_used < unused_since)
    with database.read() as connection:
        return _entries(connection, sa.and_(*wanted))


def find_entries(database: Database, text: str) -> list[Entry]:
    """Find the entries that a user names."""
    table = cache_entries.c
    workflow, _, step = text.rpartition("/")
    with database.read() as connection:
        found = _entries(connection, table.key == text) if text else []
        if not found:
            of_workflow = table.workflow == workflow if workflow else sa.true()
            found = _entries(connection, sa.and_(table.step == step, of_workflow))
        if not found and text:
            found = _entries(connection, sa.func.substr(table.key, 1, len(text)) == text, 2)
            if len(found) == 2:
                raise CacheEntryNotFoundError(
                    f'several entries of the cache begin with "{text}". Write more of the key'
                )
    if not found:
        raise CacheEntryNotFoundError(
            f'the cache has no entry "{text}": neither a key nor a step is named so. '
            "`couler cache ls` shows all"
        )
    return found


def stats_of_cache(database: Database) -> Stats:
    """Return what the cache holds and what it was good for."""
    table = cache_entries.c
    of_pinned = (
        sa.func.sum(sa.case((table.pinned, value), else_=0)) for value in (1, table.size_bytes)
    )
    of_places = (sa.func.sum(cache_places.c.saved_s), sa.func.sum(cache_places.c.lost_s))
    with database.read() as connection:
        sums = sa.select(sa.func.count(), sa.func.sum(table.size_bytes), *of_pinned)
        entries, size_bytes, pinned, pinned_bytes = connection.execute(sums).one()
        left = sa.select(sa.func.count()).select_from(cache_garbage).where(~is_needed())
        garbage = connection.execute(left).scalar()
        saved_s, lost_s = connection.execute(sa.select(*of_places)).one()
        by_kind = count_decisions(connection)
    return Stats(
        entries=entries,
        pinned=pinned or 0,
        size_bytes=int(size_bytes or 0),
        pinned_bytes=int(pinned_bytes or 0),
        hits=by_kind["hit"],
        passed=by_kind["passed"],
        misses=by_kind["miss"],
        rejected=by_kind["rejected"],
        evicted=by_kind["evicted"],
        saved_s=float(saved_s or 0),
        lost_s=float(lost_s or 0),
        garbage=garbage or 0,
    )


def _entries(
    connection: sa.Connection, wanted: sa.ColumnElement[bool], limit: int | None = None
) -> list[Entry]:
    order = cache_entries.c.last_used.desc(), cache_entries.c.key
    query = sa.select(cache_entries).where(wanted).order_by(*order).limit(limit)
    return [Entry(**row) for row in connection.execute(query).mappings()]


def _named_steps(connection: sa.Connection, keys: list[str]) -> list[tuple[str, str]]:
    """Return workflow and place of the steps that made entries which are not pinned."""
    table = cache_entries.c
    found: set[tuple[str, str]] = set()
    for some in portions(keys):
        wanted = table.key.in_(some), ~table.pinned
        query = sa.select(table.workflow, table.place).where(*wanted).distinct()
        found.update((row.workflow, row.place) for row in connection.execute(query))
    return sorted(found)


def _remove(
    connection: sa.Connection, keys: list[str], unused_since: datetime | None = None
) -> tuple[str, ...]:
    wanted = ~cache_entries.c.pinned
    if unused_since is not None:
        wanted = sa.and_(wanted, cache_entries.c.last_used < unused_since)
    removed = _keys(connection, keys, wanted)
    remove_rows(connection, removed)
    return removed


def _keys(
    connection: sa.Connection, keys: list[str], wanted: sa.ColumnElement[bool]
) -> tuple[str, ...]:
    """Return which of some keys have an entry that is wanted."""
    key = cache_entries.c.key
    found: list[str] = []
    for some in portions(keys):
        query = sa.select(key).where(key.in_(some), wanted)
        found += connection.execute(query).scalars()
    return tuple(found)
