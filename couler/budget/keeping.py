"""Bring the cache under its budget, and delete the files that nobody needs then."""

from __future__ import annotations

import socket
from contextlib import suppress

from couler.budget.judging import Judge
from couler.errors import StoreError
from couler.state.admission import evict_entries
from couler.state.database import Database
from couler.state.holds import release_runs
from couler.state.ledger import Kept
from couler.state.leftovers import sweep_garbage
from couler.state.records import CacheDecision
from couler.store import ObjectStore


def keep_budget(
    database: Database, store: ObjectStore | None, judge: Judge, *, run_id: str | None = None
) -> tuple[tuple[Kept, CacheDecision], ...]:
    """Hand over what succeeded runs hold to the cache, enforce its budget, delete the rest."""
    release_runs(database)
    evicted = evict_entries(database, judge.shrink, run_id=run_id)
    if store is not None:
        delete_garbage(database, store)
    return evicted


def delete_garbage(database: Database, store: ObjectStore) -> None:
    """Delete the files that the cache has given up and nobody needs, as far as that is possible."""
    # What cannot be deleted stays noted, and counts as garbage in `couler cache stats`.
    with suppress(StoreError, OSError):
        sweep_garbage(database, store, host=socket.gethostname())
