"""The metadata database: created, opened, and used in transactions."""

from __future__ import annotations

import sqlite3
import time
import typing as t
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from urllib.parse import unquote

import sqlalchemy as sa
from sqlalchemy import event
from sqlalchemy.engine import URL, Dialect, make_url
from sqlalchemy.engine.interfaces import DBAPIConnection
from sqlalchemy.pool import ConnectionPoolEntry

from couler.errors import StateError
from couler.state.faults import explain_faults, explain_opening
from couler.state.tables import SCHEMA_VERSION, metadata, schema_version

_PATIENCE_S = 30
"""How long to wait for another process that writes. What Couler writes takes milliseconds."""

_CREATION_LOCK = 7_236_418_150_011
"""Key of the advisory lock of the process that creates the tables of a PostgreSQL database."""


class Database:
    """A metadata database that is open."""

    def __init__(self, engine: sa.Engine, place: str) -> None:
        self.place = place
        self._engine = engine
        self._writer = engine.execution_options(couler_writes=True)

    @property
    def dialect(self) -> Dialect:
        """SQLAlchemy's description of the database."""
        return self._engine.dialect

    @contextmanager
    def read(self) -> Iterator[sa.Connection]:
        """Give a connection to read with."""
        with explain_faults(self.place, "read"), self._engine.connect() as connection:
            yield connection

    @contextmanager
    def write(self) -> Iterator[sa.Connection]:
        """Give a connection in a transaction, which the end of the block commits."""
        with explain_faults(self.place, "write"), self._writer.begin() as connection:
            yield connection

    @contextmanager
    def rehearse(self) -> Iterator[sa.Connection]:
        """Give a connection as `write` does, whose transaction the end of the block undoes."""
        with (
            explain_faults(self.place, "write"),
            self._writer.connect() as connection,
            connection.begin() as transaction,
        ):
            yield connection
            transaction.rollback()

    def connect_writer(self) -> sa.Connection:
        """Return a connection whose transactions write; the caller begins, ends and closes it."""
        with explain_faults(self.place, "open"):
            return self._writer.connect()

    def close(self) -> None:
        """Close every connection that is not in use."""
        self._engine.dispose()

    def __enter__(self) -> t.Self:
        return self

    def __exit__(self, *_exception: object) -> None:
        self.close()


def open_database(url: str) -> Database:
    """Open a metadata database; create its tables if it is new."""
    with explain_opening(url.partition("://")[0]):
        parsed = _parse(url)
    place = _place(parsed)
    if parsed.get_backend_name() == "postgres":
        raise StateError(f"{place}: write postgresql:// in COULER_DATABASE_URL, not postgres://")
    if parsed.get_backend_name() not in ("sqlite", "postgresql"):
        raise StateError(
            f"{place}: Couler keeps its runs in SQLite or PostgreSQL. Set COULER_DATABASE_URL to "
            "the URL of such a database"
        )
    with explain_opening(place):
        engine = _open_sqlite(parsed) if parsed.get_backend_name() == "sqlite" else _open(parsed)
    database = Database(engine, place)
    try:
        with database.read() as connection:
            is_new = _is_new(connection, place)
        if is_new:
            _create_tables(database)
    except StateError:
        database.close()
        raise
    return database


def _parse(url: str) -> URL:
    parsed = make_url(url)
    if parsed.drivername == "postgresql":  # the driver of SQLAlchemy depends on its version
        return parsed.set(drivername="postgresql+psycopg")
    if parsed.get_backend_name() != "sqlite" or "///" not in url or "///file:" in url:
        return parsed
    # Not every version of SQLAlchemy reads escapes in a path: `%3F` for a question mark.
    path = url.partition("///")[2].partition("?")[0]
    return parsed.set(database=unquote(path))


def _place(url: URL) -> str:
    if url.get_backend_name() == "sqlite" and url.database:
        return url.database
    return url.render_as_string(hide_password=True)


def _open(url: URL) -> sa.Engine:
    return sa.create_engine(url, pool_pre_ping=True)


def _open_sqlite(url: URL) -> sa.Engine:
    is_file = bool(url.database) and url.database != ":memory:"
    if is_file and not str(url.database).startswith("file:"):
        Path(str(url.database)).parent.mkdir(parents=True, exist_ok=True)
    engine = sa.create_engine(url, connect_args={"timeout": _PATIENCE_S})
    event.listen(engine, "connect", _prepare_sqlite)
    event.listen(engine, "begin", _begin_sqlite)
    if is_file:
        _write_ahead(engine)
    return engine


def _prepare_sqlite(connection: DBAPIConnection, _entry: ConnectionPoolEntry) -> None:
    # The driver would begin transactions by itself, and too late for `_begin_sqlite`.
    t.cast(sqlite3.Connection, connection).isolation_level = None
    cursor = connection.cursor()
    # A committed transaction survives a power cut, not only the end of the process.
    cursor.execute("PRAGMA synchronous = FULL")
    cursor.execute("PRAGMA foreign_keys = ON")
    cursor.close()


def _begin_sqlite(connection: sa.Connection) -> None:
    # A transaction that begins by reading could not be let write once another has written.
    writes = connection.get_execution_options().get("couler_writes", False)
    connection.exec_driver_sql("BEGIN IMMEDIATE" if writes else "BEGIN")


def _write_ahead(engine: sa.Engine) -> None:
    """Let readers and a writer work at once. The file keeps the mode; some disks cannot have it."""
    until = time.monotonic() + _PATIENCE_S
    raw = engine.raw_connection()
    try:
        cursor = raw.cursor()
        while cursor.execute("PRAGMA journal_mode").fetchone() != ("wal",):
            try:
                cursor.execute("PRAGMA journal_mode = WAL")
                break
            except sqlite3.OperationalError as error:
                # SQLite does not wait here for others that change the mode or write.
                is_busy = error.sqlite_errorcode & 0xFF == sqlite3.SQLITE_BUSY
                if not is_busy or time.monotonic() > until:
                    raise
                time.sleep(0.02)
    finally:
        raw.close()


def _is_new(connection: sa.Connection, place: str) -> bool:
    """Return whether a database has none of the tables; refuse those of another version."""
    existing = metadata.tables.keys() & sa.inspect(connection).get_table_names()
    if not existing:
        return True
    version: object = "unknown"
    if schema_version.name in existing:
        version = connection.execute(sa.select(schema_version.c.version)).scalar_one()
    if version == SCHEMA_VERSION:
        return False
    raise StateError(
        f"{place}: the version of its tables is {version}; this Couler reads version "
        f"{SCHEMA_VERSION}. Use the Couler that created it, or set COULER_HOME to another folder "
        "(COULER_DATABASE_URL to another database, where it is set)"
    )


def _create_tables(database: Database) -> None:
    with database.write() as connection:
        if connection.dialect.name == "postgresql":
            connection.execute(sa.select(sa.func.pg_advisory_xact_lock(_CREATION_LOCK)))
        if _is_new(connection, database.place):  # another process may have created them meanwhile
            metadata.create_all(connection, checkfirst=False)
            connection.execute(sa.insert(schema_version).values(version=SCHEMA_VERSION))
