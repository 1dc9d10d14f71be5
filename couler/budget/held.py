"""What runs keep in the store that is not of the cache, and that no budget bounds."""

from __future__ import annotations

import typing as t
from collections.abc import Iterable, Mapping

from couler.errors import ConfigurationError, StoreError
from couler.state.database import Database
from couler.state.holds import HeldObject, held_beside_entries
from couler.store import ObjectStore


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
