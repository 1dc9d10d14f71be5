"""Clean the cache, and measure what runs hold beside it."""

from __future__ import annotations

import socket
import typing as t
from collections.abc import Callable, Collection, Iterable, Mapping
from datetime import timedelta

from couler.budget.judging import Judge
from couler.errors import ConfigurationError, StoreError
from couler.state.admission import Eviction, evict_chosen, evict_entries, remove_rows
from couler.state.database import Database
from couler.state.garbage import GRACE, Collected, collect_garbage
from couler.state.holds import (
    HeldObject,
    held_beside_entries,
    lock_cache,
    release_holds,
    release_runs,
)
from couler.state.ledger import Kept, Ledger, read_ledger
from couler.state.leftovers import Garbage, list_garbage, sweep_garbage
from couler.store import ObjectStore

Evicted: t.TypeAlias = tuple[Kept, str]
"""An entry that went, and why."""


class Cleaned(t.NamedTuple):
    """What was removed from the cache, or would be."""

    unused: int
    """Entries that nobody used for some time, and those that had lost files."""
    evicted: tuple[Evicted, ...]
    """Entries that went for the budget."""
    objects: int
    """Files that were deleted."""
    size_bytes: int
    """What these files took."""
    waiting: int
    """Files that nobody needs and that stay for now, for the sake of runs under way."""
    temporary_files: int
    """What interrupted writers had left."""
    kept_objects: int
    """Number of files that stay."""


def clean_cache(
    database: Database,
    store: ObjectStore,
    judge: Judge,
    *,
    unused_for: timedelta | None = None,
    grace: timedelta = GRACE,
    dry_run: bool = False,
) -> Cleaned:
    """Remove entries that nobody uses, bring the rest under the budget, and delete files."""
    choose = _choose(judge)
    if judge.is_limited:
        with database.read() as connection:
            choose(read_ledger(connection))
    collected = collect_garbage(
        database, store, unused_for=unused_for, grace=grace, dry_run=dry_run
    )
    if dry_run:
        return _foresee(database, store, judge, collected)
    evicted: tuple[Evicted, ...] = ()
    if judge.is_limited:
        release_runs(database)
        evicted = tuple((kept, told.reason) for kept, told in evict_entries(database, choose))
    swept = sweep_garbage(database, store, host=socket.gethostname())
    return Cleaned(
        unused=len(collected.entries),
        evicted=evicted,
        objects=len(collected.objects) + swept.objects,
        size_bytes=collected.size_bytes + swept.size_bytes,
        waiting=swept.waiting,
        temporary_files=collected.temporary_files,
        kept_objects=collected.kept_objects - swept.objects,
    )


def _choose(judge: Judge) -> Callable[[Ledger], tuple[Eviction, ...]]:
    """Return what chooses entries to go, and fails where the policy does."""

    def choose(ledger: Ledger) -> tuple[Eviction, ...]:
        here = judge.course.here
        evictions = tuple(judge.shrink(ledger, here))
        if evictions:
            judge.worths(ledger, here)  # it raises what `shrink` goes on without
        return evictions

    return choose


def _foresee(database: Database, store: ObjectStore, judge: Judge, collected: Collected) -> Cleaned:
    evicted, garbage = _rehearse(database, store, judge, collected.entries)
    left = [
        item
        for item in store.objects()
        if item.digest in garbage.digests and item.digest not in collected.objects
    ]
    deleted = [item for item in left if garbage.before is None or item.modified < garbage.before]
    return Cleaned(
        unused=len(collected.entries),
        evicted=evicted,
        objects=len(collected.objects) + len(deleted),
        size_bytes=collected.size_bytes + sum(item.size for item in deleted),
        waiting=len(left) - len(deleted),
        temporary_files=collected.temporary_files,
        kept_objects=collected.kept_objects - len(deleted),
    )


def _rehearse(
    database: Database, store: ObjectStore, judge: Judge, unused: Collection[str]
) -> tuple[tuple[Evicted, ...], Garbage]:
    """Do in the database what cleaning does, and undo it."""
    with database.rehearse() as connection:
        lock_cache(connection)
        remove_rows(connection, unused)
        evicted: tuple[Evicted, ...] = ()
        if judge.is_limited:
            release_holds(connection)
            gone = evict_chosen(connection, _choose(judge))
            evicted = tuple((kept, told.reason) for kept, told in gone)
        return evicted, list_garbage(connection, store, host=socket.gethostname())


class Held(t.NamedTuple):
    """What runs hold that no entry has. What several hold counts once."""

    held_runs: int
    held_bytes: int | None
    """None if the store does not tell."""
    held_unsucceeded_runs: int
    """How many of the runs have not succeeded, or not yet."""
    held_unsucceeded_bytes: int | None
    """What these hold of it."""


def measure_held(database: Database, store: ObjectStore) -> Held:
    """What runs hold outside of the entries; the store is asked for sizes, if there is any."""
    held = held_beside_entries(database)
    unsucceeded = [one for one in held if not one.has_succeeded]
    sizes = _sizes(store) if held else {}
    return Held(
        held_runs=len({one.run_id for one in held}),
        held_bytes=_sum(sizes, held),
        held_unsucceeded_runs=len({one.run_id for one in unsucceeded}),
        held_unsucceeded_bytes=_sum(sizes, unsucceeded),
    )


def _sum(sizes: Mapping[str, int] | None, held: Iterable[HeldObject]) -> int | None:
    if sizes is None:
        return None
    return sum(sizes.get(digest, 0) for digest in {one.digest for one in held})


def _sizes(store: ObjectStore) -> dict[str, int] | None:
    """Return what each object takes, None if the store cannot be read."""
    try:
        return {item.digest: item.size for item in store.objects()}
    except (StoreError, ConfigurationError, OSError):
        return None
