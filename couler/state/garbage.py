"""Removes entries of the cache that nobody used, then objects that nothing refers to."""

from __future__ import annotations

import typing as t
from collections.abc import Iterable, Iterator, Mapping
from datetime import UTC, datetime, timedelta

import sqlalchemy as sa

from couler.errors import ArtifactError, StoreError
from couler.state.cache import list_entries, remove_entries
from couler.state.database import Database
from couler.state.holds import needed_objects, strike_off
from couler.state.records import Json
from couler.state.tables import cache_entries, cache_objects, runs, steps

if t.TYPE_CHECKING:
    from couler.store import ObjectStore

GRACE = timedelta(hours=1)
"""A step's outputs are stored before they are recorded; in between nothing refers to them."""

STALE = timedelta(days=1)
"""When the temporary file of a writer is taken to be left behind."""


class Collected(t.NamedTuple):
    """What was removed, or would be."""

    entries: frozenset[str]
    """Keys of cache entries."""
    objects: frozenset[str]
    """Digests of objects."""
    size_bytes: int
    """Size of the objects."""
    temporary_files: int
    kept_objects: int


def collect_garbage(
    database: Database,
    store: ObjectStore,
    *,
    unused_for: timedelta | None = None,
    grace: timedelta = GRACE,
    dry_run: bool = False,
) -> Collected:
    """Remove what nobody needs: entries of the cache first, then objects of the store."""
    started = datetime.now(UTC)
    before = started - grace
    # In this order: the objects of an entry are there before the entry is.
    needs = _needs_of_entries(database)
    found = {item.digest: item for item in store.objects()}
    lost = {
        key for key, (pinned, digests) in needs.items() if digests - found.keys() and not pinned
    }
    unused: set[str] = set()
    unused_since = started if unused_for is None else started - unused_for
    if unused_for is not None:
        entries = list_entries(database, unused_since=unused_since)
        unused = {entry.key for entry in entries if not entry.pinned}
    removed = lost | unused
    if not dry_run:
        # An entry that a run makes or takes meanwhile is used after the start.
        gone = remove_entries(database, unused, unused_since=unused_since)
        others = remove_entries(database, lost - unused, unused_since=started)
        removed = {*gone.keys, *others.keys}

    live = _live(database, store, leave_out=removed if dry_run else set())
    unreferenced = [
        item
        for item in found.values()
        if item.digest not in live and item.modified < before.timestamp()
    ]
    deleted = [
        item
        for item in unreferenced
        if dry_run or store.delete(item.digest, before=before.timestamp())
    ]
    if not dry_run:
        strike_off(database, [item.digest for item in deleted])
    return Collected(
        entries=frozenset(removed),
        objects=frozenset(item.digest for item in deleted),
        size_bytes=sum(item.size for item in deleted),
        temporary_files=0 if dry_run else store.sweep((started - STALE).timestamp()),
        kept_objects=len(found) - len(deleted),
    )


def _needs_of_entries(database: Database) -> dict[str, tuple[bool, set[str]]]:
    """Return for each entry whether it is pinned, and the objects that it needs."""
    query = sa.select(cache_entries.c.key, cache_entries.c.pinned, cache_objects.c.digest)
    query = query.outerjoin_from(cache_entries, cache_objects)
    needs: dict[str, tuple[bool, set[str]]] = {}
    with database.read() as connection:
        for key, pinned, digest in connection.execute(query):
            digests = needs.setdefault(key, (pinned, set()))[1]
            if digest is not None:
                digests.add(digest)
    return needs


def _live(database: Database, store: ObjectStore, *, leave_out: set[str]) -> set[str]:
    """Return the digests that entries, but for some, and runs need or refer to."""
    references: set[str] = set()
    with database.read() as connection:
        live = needed_objects(connection, leave_out=leave_out)
        for column in (steps.c.outputs, runs.c.parameters):
            # `"file"` and `"directory"` are the types of what the store holds.
            json = sa.type_coerce(column, sa.Text)
            query = sa.select(column).where(json.contains('"file"') | json.contains('"directory"'))
            for row in connection.execute(query):
                references.update(file_texts(row[0]))
    for text in references:
        live.update(_digests(store, text))
    return live


def _digests(store: ObjectStore, text: str) -> Iterable[str]:
    try:
        return store.digests(text)
    except StoreError:
        raise
    except ArtifactError:
        # A text that a user made up, or a directory whose list of files is lost: of no use without.
        return ()


def file_texts(outputs: Mapping[str, Json]) -> Iterator[str]:
    """Yield the references among the stored outputs of a step, or parameters."""
    for stored in outputs.values():
        for item in stored if isinstance(stored, list) else (stored,):
            match item:
                case {"type": "file" | "directory", "text": str(text)}:
                    yield text
