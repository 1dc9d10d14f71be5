"""What goes wrong with a database, told so that a user can mend it."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager

import sqlalchemy as sa

from couler.errors import StateError

_ELSEWHERE = "set COULER_HOME to another folder"
_BUSY = "another process has kept it locked. Wait for that process or end it, then repeat"

_EXTRAS = {"psycopg": "'couler[postgresql]'"}

_REMEDIES = {
    sqlite3.SQLITE_FULL: "the disk is full. Make room, then repeat: what was written is kept",
    sqlite3.SQLITE_IOERR: "the disk cannot be read or written. Check its space and its health",
    sqlite3.SQLITE_READONLY: f"it is read-only. Make file and folder writable, or {_ELSEWHERE}",
    sqlite3.SQLITE_CANTOPEN: f"no access. Make its folder exist and be writable, or {_ELSEWHERE}",
    sqlite3.SQLITE_PERM: f"no access. Make file and folder writable, or {_ELSEWHERE}",
    sqlite3.SQLITE_NOTADB: f"the file is no SQLite database. Move it away, or {_ELSEWHERE}",
    sqlite3.SQLITE_CORRUPT: f"the file is damaged. Restore a copy, move it away, or {_ELSEWHERE}",
    sqlite3.SQLITE_BUSY: _BUSY,
    sqlite3.SQLITE_LOCKED: _BUSY,
}


@contextmanager
def explain_faults(place: str, doing: str) -> Iterator[None]:
    """Raise driver errors as a `StateError` that says what, where and how to fix it."""
    try:
        yield
    except (sa.exc.DBAPIError, sqlite3.Error) as error:
        cause = error.orig if isinstance(error, sa.exc.DBAPIError) else error
        raise StateError(f"{place}: cannot {doing}: {_explain(cause)}") from error


@contextmanager
def explain_opening(place: str) -> Iterator[None]:
    """Raise what goes wrong when a database is opened as a `StateError`, as `explain_faults`."""
    try:
        with explain_faults(place, "open"):
            yield
    except OSError as error:
        raise StateError(
            f"{place}: cannot open: {error.strerror or error}. Make its folder exist and be "
            f"writable, or {_ELSEWHERE}"
        ) from error
    except (sa.exc.ArgumentError, sa.exc.NoSuchModuleError, ValueError) as error:
        raise StateError(
            f"{place}: cannot open: {error}. COULER_DATABASE_URL is to be a URL as SQLAlchemy "
            "reads it, such as sqlite:////data/couler.db"
        ) from error
    except ImportError as error:  # of the driver, or of what it needs
        package = error.name or place.partition("+")[2].partition(":")[0]
        why = " ".join(str(error).split())
        raise StateError(
            f"{place}: cannot open: {why}. Install the driver: pip install "
            f"{_EXTRAS.get(package, package)}"
        ) from error


def _explain(cause: BaseException | None) -> str:
    # The low byte is the kind; the others tell kinds of it apart (sqlite.org/rescode.html).
    code = getattr(cause, "sqlite_errorcode", 0) & 0xFF
    if code in _REMEDIES:
        return f"{_REMEDIES[code]} (SQLite: {cause})"
    return " ".join(str(cause).split())
