"""Insert or update in one statement, which the databases spell alike and SQLAlchemy apart."""

from __future__ import annotations

import typing as t
from collections.abc import Iterable

import sqlalchemy as sa
from sqlalchemy.dialects import sqlite
from sqlalchemy.engine import Dialect


def upsert(table: sa.Table, dialect: Dialect, *, update: Iterable[str] | None = None) -> sa.Insert:
    """Return a statement that inserts a row, or updates the one with the same primary key."""
    keys = [column.name for column in table.primary_key]
    names = [column.name for column in table.columns if column.name not in keys]
    names = names if update is None else list(update)
    insert = _insert(table, dialect)
    if names:
        replaced = {name: insert.excluded[name] for name in names}
        return t.cast(sa.Insert, insert.on_conflict_do_update(index_elements=keys, set_=replaced))
    return t.cast(sa.Insert, insert.on_conflict_do_nothing(index_elements=keys))


def _insert(table: sa.Table, dialect: Dialect) -> sqlite.Insert:
    if dialect.name != "postgresql":
        return sqlite.insert(table)
    # Another class of the same shape, as far as it is used here; slow to load.
    from sqlalchemy.dialects import postgresql

    return t.cast(sqlite.Insert, postgresql.insert(table))
