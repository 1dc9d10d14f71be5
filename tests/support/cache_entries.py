"""Entries of the cache as they are written: what was decided of them is of no matter."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import fields
from datetime import datetime

import sqlalchemy as sa

from couler.state.database import Database
from couler.state.entries import Entry
from couler.state.tables import cache_entries, cache_objects

_FIELDS = tuple(item.name for item in fields(Entry))


def add_entry(database: Database, entry: Entry, digests: Iterable[str]) -> None:
    """Write an entry, in place of one of its key, with the objects that it needs."""
    with database.write() as connection:
        connection.execute(sa.delete(cache_entries).where(cache_entries.c.key == entry.key))
        row = {name: getattr(entry, name) for name in _FIELDS}
        connection.execute(sa.insert(cache_entries).values(row))
        rows = [{"key": entry.key, "digest": digest} for digest in dict.fromkeys(digests)]
        if rows:
            connection.execute(sa.insert(cache_objects), rows)


def use_entry(database: Database, key: str, used: datetime) -> None:
    """Write that an entry stood for a step."""
    mine = cache_entries.c.key == key
    with database.write() as connection:
        connection.execute(sa.update(cache_entries).where(mine).values(last_used=used))
