"""Types of columns that read back what was written, on SQLite and PostgreSQL alike."""

from __future__ import annotations

import json
import typing as t
from collections.abc import Mapping
from datetime import UTC, datetime

import sqlalchemy as sa
from sqlalchemy.engine import Dialect
from sqlalchemy.types import TypeDecorator, TypeEngine


class UtcTime(TypeDecorator[datetime]):
    """An aware time in UTC, to the microsecond."""

    impl = sa.DateTime(timezone=True)
    cache_ok = True

    def load_dialect_impl(self, dialect: Dialect) -> TypeEngine[t.Any]:
        """Choose the type of the database."""
        is_text = dialect.name == "sqlite"
        return dialect.type_descriptor(sa.String(32) if is_text else sa.DateTime(timezone=True))

    def process_bind_param(self, value: datetime | None, dialect: Dialect) -> t.Any:
        """Return what is written."""
        if value is None:
            return None
        if value.tzinfo is None:
            raise ValueError(f"{value!r} has no time zone")
        if value.tzinfo is not UTC:
            value = value.astimezone(UTC)
        return value.isoformat(timespec="microseconds") if dialect.name == "sqlite" else value

    def process_result_value(self, value: t.Any, dialect: Dialect) -> datetime | None:
        """Return what was read; a server gives times in the zone of its session."""
        if value is None:
            return None
        return (datetime.fromisoformat(value) if isinstance(value, str) else value).astimezone(UTC)


class JsonText(TypeDecorator[t.Any]):
    """A JSON value as its text, so that numbers and the order of keys are kept."""

    impl = sa.Text
    cache_ok = True

    def process_bind_param(self, value: t.Any, dialect: Dialect) -> str | None:
        """Return what is written."""
        if value is None:
            return None
        return json.dumps(value, separators=(",", ":"), allow_nan=False, default=_as_dict)

    def process_result_value(self, value: str | None, dialect: Dialect) -> t.Any:
        """Return what was read."""
        return None if value is None else json.loads(value)


def _as_dict(value: object) -> dict[str, t.Any]:
    if isinstance(value, Mapping):
        return dict(value)
    raise TypeError(f"{value!r} is no JSON value")


class Sentence(TypeDecorator[str]):
    """Text from elsewhere, such as a message of a process: what no database takes is escaped."""

    impl = sa.Text
    cache_ok = True

    def process_bind_param(self, value: str | None, dialect: Dialect) -> str | None:
        """Return what is written."""
        if value is None or (value.isascii() and "\0" not in value):
            return value
        return value.replace("\0", "\\x00").encode("utf-8", "backslashreplace").decode("utf-8")


PathText = sa.Text().with_variant(sa.Text(collation="C"), "postgresql")
"""Text in the order of its code points, which a range over a prefix needs; SQLite's order is."""
