"""What is known of the cache when a decision is made."""

from __future__ import annotations

import typing as t
from collections.abc import Sequence
from functools import cached_property

import sqlalchemy as sa

from couler.state.faults import explain_faults
from couler.state.tables import cache_clock, cache_entries, cache_places


class Kept(t.NamedTuple):
    """What an entry (`couler.state.entries.Entry`) is to those who decide."""

    key: str
    workflow: str
    path: str
    place: str
    run_id: str
    size_bytes: int
    cost_s: float
    hits: int
    pinned: bool
    admitted: int
    used: int
    superseded: int
    credit: float


class Uses(t.NamedTuple):
    """How the cache served a place of a workflow: a step, whatever its items and rounds."""

    lookups: int
    """How often an instance came there."""
    latest: int
    """How often it asked for what was used last at its path; that may have been evicted."""
    older: int
    """How often it asked for what others have taken the place of."""
    seconds: float
    """How long the one took that ran last."""


class Ledger:
    """What is known when a decision is made; read when it is looked at."""

    def __init__(self, connection: sa.Connection, clock: int, age: float) -> None:
        self._connection = connection
        self.clock = clock
        self.age = age

    def used_bytes(self, *, run_id: str | None = None, but: str | None = None) -> int:
        """Return what entries take: all, or those of a run; without that of a key."""
        query = sa.select(sa.func.sum(cache_entries.c.size_bytes))
        if run_id is not None:
            query = query.where(cache_entries.c.run_id == run_id)
        if but is not None:
            query = query.where(cache_entries.c.key != but)
        return int(self._connection.execute(query).scalar() or 0)

    @cached_property
    def entries(self) -> Sequence[Kept]:
        """All entries of the cache."""
        columns = [cache_entries.c[name] for name in Kept._fields]
        # A policy is what asks first: its faults are to be told from those of the database.
        with explain_faults("the metadata database", "read"):
            # At once: row by row it takes three times as long.
            return list(map(Kept._make, self._connection.execute(sa.select(*columns)).all()))

    @cached_property
    def places(self) -> dict[tuple[str, str], Uses]:
        """How the cache served each place, by workflow and place."""
        columns = [cache_places.c[name] for name in ("workflow", "place", *Uses._fields)]
        with explain_faults("the metadata database", "read"):
            rows = self._connection.execute(sa.select(*columns))
            return {(row[0], row[1]): Uses(*row[2:]) for row in rows}


def read_ledger(connection: sa.Connection) -> Ledger:
    """Return what is known now, to look at only."""
    return Ledger(connection, *read_clock(connection))


def read_clock(connection: sa.Connection) -> tuple[int, float]:
    """Return how often the cache was used, and the greatest worth of what was evicted."""
    row = connection.execute(sa.select(cache_clock.c.clock, cache_clock.c.age)).first()
    return (0, 0.0) if row is None else (row[0], row[1])
