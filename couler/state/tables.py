"""The tables of the metadata database, and types of columns that are the same on both databases."""

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

metadata = sa.MetaData(
    naming_convention={
        "ix": "ix_%(table_name)s_%(column_0_N_name)s",
        "uq": "uq_%(table_name)s_%(column_0_N_name)s",
        "fk": "fk_%(table_name)s_%(column_0_N_name)s_%(referred_table_name)s",
        "pk": "pk_%(table_name)s",
    }
)

SCHEMA_VERSION = 2
"""Changes with the tables; a database of another version is refused."""

schema_version = sa.Table(
    "schema_version",
    metadata,
    sa.Column("version", sa.Integer, primary_key=True, autoincrement=False),
)

DIGEST = sa.String(64)

workflows = sa.Table(
    "workflows",
    metadata,
    sa.Column("digest", DIGEST, primary_key=True),
    sa.Column("name", sa.Text, nullable=False),
    sa.Column("ir", sa.Text, nullable=False),
    sa.Column("created", UtcTime, nullable=False),
)

runs = sa.Table(
    "runs",
    metadata,
    sa.Column("id", PathText, primary_key=True),
    sa.Column("workflow_digest", DIGEST, sa.ForeignKey("workflows.digest"), nullable=False),
    sa.Column("workflow", sa.Text, nullable=False),
    sa.Column("engine", sa.Text, nullable=False),
    sa.Column("status", sa.Text, nullable=False),
    sa.Column("parameters", JsonText, nullable=False),
    sa.Column("logical_date", sa.Text),
    sa.Column("started", UtcTime),
    sa.Column("finished", UtcTime),
    sa.Column("message", Sentence),
    sa.Column("outputs", JsonText, nullable=False),
    sa.Column("folder", Sentence),
    sa.Column("host", sa.Text),
    sa.Column("program", Sentence),
    sa.Column("created", UtcTime, nullable=False),
    sa.Column("target", JsonText),
    sa.Column("place", JsonText),
    # Their order, whatever the clock said when they were made.
    sa.Column("number", sa.Integer, nullable=False),
    sa.Index(None, "number"),
    sa.Index(None, "workflow_digest"),
)


def _run_id() -> sa.Column[str]:
    """Return the column that binds a row to its run and goes with it."""
    key = sa.ForeignKey("runs.id", ondelete="CASCADE")
    return sa.Column("run_id", PathText, key, primary_key=True)


sessions = sa.Table(
    "sessions",
    metadata,
    _run_id(),
    sa.Column("number", sa.Integer, primary_key=True, autoincrement=False),
    sa.Column("pid", sa.Integer, nullable=False),
    sa.Column("host", sa.Text, nullable=False),
    sa.Column("started", UtcTime, nullable=False),
    sa.Column("finished", UtcTime),
    sa.Column("status", sa.Text, nullable=False),
    sa.Column("options", JsonText, nullable=False),
    sa.Column("workflow_digest", DIGEST, sa.ForeignKey("workflows.digest"), nullable=False),
    # When its engine last told that it goes on.
    sa.Column("seen", UtcTime),
    sa.Index(None, "workflow_digest"),
)

source_maps = sa.Table(
    "source_maps",
    metadata,
    _run_id(),
    # Another program can come to the same workflow, and another workflow can follow in a run.
    sa.Column("workflow_digest", DIGEST, primary_key=True),
    sa.Column("entries", JsonText, nullable=False),
)

steps = sa.Table(
    "steps",
    metadata,
    _run_id(),
    sa.Column("path", PathText, primary_key=True),
    sa.Column("name", sa.Text, nullable=False),
    sa.Column("item", JsonText),
    sa.Column("status", sa.Text, nullable=False),
    sa.Column("key", DIGEST),
    sa.Column("outputs", JsonText, nullable=False),
    sa.Column("started", UtcTime),
    sa.Column("finished", UtcTime, nullable=False),
    sa.Column("attempts", sa.Integer, nullable=False),
    sa.Column("message", Sentence),
    sa.Column("exit_code", sa.Integer),
    sa.Column("log", Sentence),
    sa.Column("session", sa.Integer, nullable=False),
    sa.Column("ordinal", sa.Integer, nullable=False),
    # No foreign key: a run may be deleted while others have reused its outputs.
    sa.Column("source_run", PathText),
)

attempts = sa.Table(
    "attempts",
    metadata,
    _run_id(),
    sa.Column("path", PathText, primary_key=True),
    sa.Column("number", sa.Integer, primary_key=True, autoincrement=False),
    sa.Column("session", sa.Integer, nullable=False),
    sa.Column("status", sa.Text, nullable=False),
    sa.Column("started", UtcTime, nullable=False),
    sa.Column("finished", UtcTime),
    sa.Column("exit_code", sa.Integer),
    sa.Column("message", Sentence),
    sa.Column("pid", sa.Integer),
    sa.Column("cpu_s", sa.Double),
    sa.Column("peak_bytes", sa.BigInteger),
    sa.Column("log", Sentence),
    sa.Column("processes", JsonText),
    sa.Column("log_from", sa.BigInteger),
    # The machine that it ran on, as its engine calls it.
    sa.Column("node", Sentence),
)

signals = sa.Table(
    "signals",
    metadata,
    _run_id(),
    sa.Column("path", PathText, primary_key=True),
    sa.Column("kind", sa.String(16), primary_key=True),
    sa.Column("created", UtcTime, nullable=False),
    sa.Column("entered", JsonText),
)

cache_entries = sa.Table(
    "cache_entries",
    metadata,
    sa.Column("key", DIGEST, primary_key=True),
    sa.Column("workflow", sa.Text, nullable=False),
    sa.Column("step", sa.Text, nullable=False),
    sa.Column("outputs", JsonText, nullable=False),
    sa.Column("size_bytes", sa.BigInteger, nullable=False),
    sa.Column("cost_s", sa.Double, nullable=False),
    sa.Column("created", UtcTime, nullable=False),
    sa.Column("last_used", UtcTime, nullable=False),
    sa.Column("hits", sa.Integer, nullable=False),
    sa.Column("pinned", sa.Boolean, nullable=False),
    # Where it comes from. No foreign key: an entry outlives the run that made it.
    sa.Column("run_id", PathText, nullable=False),
    sa.Column("path", PathText, nullable=False),
    # Of its workflow: the path without items and rounds, which `cache_places` counts by.
    sa.Column("place", PathText, nullable=False),
    # By `cache_clock`: when it was admitted, and when it was last admitted or hit.
    sa.Column("admitted", sa.BigInteger, nullable=False),
    sa.Column("used", sa.BigInteger, nullable=False),
    # How many others of its path were used since.
    sa.Column("superseded", sa.Integer, nullable=False),
    # What the policy told of it then.
    sa.Column("credit", sa.Double, nullable=False),
    sa.Index(None, "last_used"),
    sa.Index(None, "workflow", "path"),
)

cache_objects = sa.Table(
    "cache_objects",
    metadata,
    sa.Column(
        "key", DIGEST, sa.ForeignKey("cache_entries.key", ondelete="CASCADE"), primary_key=True
    ),
    sa.Column("digest", DIGEST, primary_key=True),
    sa.Index(None, "digest"),
)

cache_decisions = sa.Table(
    "cache_decisions",
    metadata,
    # A row has no key of its own: a step is looked up, stored and evicted more than once.
    sa.Column("number", sa.BigInteger().with_variant(sa.Integer, "sqlite"), primary_key=True),
    sa.Column("run_id", PathText, sa.ForeignKey("runs.id", ondelete="CASCADE"), nullable=False),
    sa.Column("path", PathText, nullable=False),
    sa.Column("key", DIGEST, nullable=False),
    sa.Column("decision", sa.String(16), nullable=False),
    sa.Column("reason", Sentence, nullable=False),
    sa.Column("at", UtcTime, nullable=False),
    sa.Index(None, "run_id", "path"),
)

cache_counts = sa.Table(
    "cache_counts",
    metadata,
    # How often what was decided between runs, and in runs that were deleted.
    sa.Column("decision", sa.String(16), primary_key=True),
    sa.Column("times", sa.BigInteger, nullable=False),
)

cache_clock = sa.Table(
    "cache_clock",
    metadata,
    sa.Column("id", sa.Integer, primary_key=True, autoincrement=False),  # there is one row: 1
    # How often something was offered to the cache or taken from it.
    sa.Column("clock", sa.BigInteger, nullable=False),
    # The worth of what was evicted last, the greatest so far.
    sa.Column("age", sa.Double, nullable=False),
)

cache_places = sa.Table(
    "cache_places",
    metadata,
    sa.Column("workflow", PathText, primary_key=True),
    sa.Column("place", PathText, primary_key=True),
    sa.Column("lookups", sa.BigInteger, nullable=False),
    # Of the latest outputs of an instance, and of older ones; what was evicted counts as well.
    sa.Column("latest", sa.BigInteger, nullable=False),
    sa.Column("older", sa.BigInteger, nullable=False),
    # How long the last one that ran took.
    sa.Column("seconds", sa.Double, nullable=False),
    sa.Column("saved_s", sa.Double, nullable=False),
    sa.Column("lost_s", sa.Double, nullable=False),
)

cache_gone = sa.Table(
    "cache_gone",
    metadata,
    # Keys of what was refused or evicted: that they are asked for again is what it cost.
    sa.Column("key", DIGEST, primary_key=True),
    sa.Column("workflow", sa.Text, nullable=False),
    sa.Column("path", PathText, nullable=False),
    sa.Column("cost_s", sa.Double, nullable=False),
    sa.Column("used", sa.BigInteger, nullable=False),
    sa.Column("superseded", sa.Integer, nullable=False),
    sa.Column("was_kept", sa.Boolean, nullable=False),
    sa.Column("place", PathText, nullable=False),
    # What is remembered of it; null where that is too much.
    sa.Column("outputs", JsonText),
    sa.Column("run_id", PathText),
    sa.Column("created", UtcTime),
    sa.Index(None, "workflow", "path"),
)

cache_garbage = sa.Table(
    "cache_garbage",
    metadata,
    # Objects that perhaps nobody needs any more: to be looked at, then deleted or struck off.
    sa.Column("digest", DIGEST, primary_key=True),
)

run_objects = sa.Table(
    "run_objects",
    metadata,
    _run_id(),
    sa.Column("digest", DIGEST, primary_key=True),
    # Whether the cache alone decides of it once the run has succeeded.
    sa.Column("of_cache", sa.Boolean, nullable=False),
    sa.Index(None, "digest"),
)
