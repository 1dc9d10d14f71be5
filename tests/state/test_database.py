"""Opening a database, and what goes wrong with it: what, where and how to mend it."""

from __future__ import annotations

import os
import shutil
import sqlite3
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
import sqlalchemy as sa

from couler.errors import StateError
from couler.state import Database, RunRecord, find_run, list_runs, open_database
from couler.state.tables import runs, schema_version


def url_of(path: Path) -> str:
    return f"sqlite:///{path}"


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "couler.db"


def test_what_was_written_is_there_when_it_is_opened_again(
    url: str, database: Database, add_run: Callable[..., RunRecord]
) -> None:
    run = add_run("r1")
    with open_database(url) as again:
        assert find_run(again, "r1") == run


def test_sqlite_is_set_up_for_several_processes_and_power_cuts(path: Path) -> None:
    with open_database(url_of(path)) as database:
        for connect in (database.read, database.write):
            with connect() as connection:
                pragmas = {
                    name: connection.exec_driver_sql(f"PRAGMA {name}").scalar()
                    for name in ("journal_mode", "synchronous", "foreign_keys", "busy_timeout")
                }
            assert pragmas == {
                "journal_mode": "wal",
                "synchronous": 2,
                "foreign_keys": 1,
                "busy_timeout": 30_000,
            }


def test_what_fails_is_undone(database: Database, add_run: Callable[..., RunRecord]) -> None:
    run = add_run("r1")
    with pytest.raises(ZeroDivisionError), database.write() as connection:
        1 / (connection.execute(sa.delete(runs)).rowcount - 1)
    assert list_runs(database) == [run]


def test_a_database_of_another_version_is_refused(url: str) -> None:
    with open_database(url) as database, database.write() as connection:
        connection.execute(sa.update(schema_version).values(version=9999))
    message = r"version of its tables is 9999; this Couler reads version \d+\. .* set COULER_HOME"
    with pytest.raises(StateError, match=message) as raised:
        open_database(url)
    assert raised.value.exit_code == 4


def test_tables_without_a_version_are_refused_and_left_alone(path: Path) -> None:
    with sqlite3.connect(path) as connection:
        connection.execute("CREATE TABLE cache_decisions (x)")
    connection.close()
    with pytest.raises(StateError, match="version of its tables is unknown"):
        open_database(url_of(path))
    with sqlite3.connect(path) as connection:
        tables = connection.execute("SELECT name FROM sqlite_master").fetchall()
    connection.close()
    assert tables == [("cache_decisions",)]


def test_a_damaged_database(path: Path) -> None:
    with open_database(url_of(path)) as database, database.write() as connection:
        rows = [(f"{number:064}", "x" * 100) for number in range(1000)]
        insert = "INSERT INTO workflows VALUES (?, 'w', ?, '2026')"
        connection.exec_driver_sql(insert, rows)
    with path.open("r+b") as file:
        file.seek(8192)
        file.write(b"\xff" * (path.stat().st_size - 8192))
    with (
        pytest.raises(StateError, match=r"the file is damaged\. Restore a copy"),
        open_database(url_of(path)) as database,
        database.write() as connection,
    ):
        connection.exec_driver_sql("UPDATE workflows SET name = 'v'")


def test_a_read_only_database(path: Path) -> None:
    open_database(url_of(path)).close()
    with open_database(f"sqlite:///file:{path}?mode=ro&uri=true") as database:
        assert list_runs(database) == []
        with (
            pytest.raises(StateError, match=r"cannot write: it is read-only\. Make file and"),
            database.write() as connection,
        ):
            connection.exec_driver_sql("DELETE FROM runs")


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write everything")
def test_a_folder_without_permission(tmp_path: Path) -> None:
    folder = tmp_path / "locked"
    folder.mkdir(mode=0o500)
    with pytest.raises(StateError, match=r"cannot open: no access\. Make its folder"):
        open_database(url_of(folder / "couler.db"))


def test_a_folder_that_cannot_be(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(StateError, match=r"cannot open: File exists\. Make its folder"):
        open_database(url_of(tmp_path / "file" / "couler.db"))


def test_a_database_that_stays_locked(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("couler.state.database._PATIENCE_S", 0.1)
    other = sqlite3.connect(path, isolation_level=None)
    with open_database(url_of(path)) as database:
        other.execute("BEGIN IMMEDIATE")
        with (
            pytest.raises(StateError, match=r"another process has kept it locked\. Wait"),
            database.write(),
        ):
            pytest.fail("two processes write")
        other.execute("ROLLBACK")
        with database.write():
            pass
    other.close()


@pytest.mark.parametrize(
    ("url", "message"),
    [
        ("no url", "Could not parse"),
        ("nosuch://host/db", "keeps its runs in SQLite or PostgreSQL"),
        ("mysql://host/db", "keeps its runs in SQLite or PostgreSQL"),
        ("postgres://host/db", "write postgresql:// in COULER_DATABASE_URL"),
        ("postgresql+nosuch://host/db", "Can't load plugin"),
        ("postgresql://host:port/db", "COULER_DATABASE_URL is to be a URL"),
    ],
)
def test_urls_that_are_wrong(url: str, message: str) -> None:
    with pytest.raises(StateError, match=message) as raised:
        open_database(url)
    assert "COULER_DATABASE_URL" in str(raised.value)


@pytest.mark.parametrize(
    ("url", "driver", "named"),
    [
        ("postgresql+pg8000://someone:secret@host/db", "pg8000", "pg8000"),
        ("postgresql://someone:secret@host/db", "psycopg", r"'couler\[postgresql\]'"),
    ],
)
def test_a_missing_driver_is_named(
    url: str, driver: str, named: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, driver, None)
    with pytest.raises(StateError, match=f"pip install {named}$"):
        open_database(url)


def test_passwords_are_not_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pg8000", None)
    with pytest.raises(StateError) as raised:
        open_database("postgresql+pg8000://someone:secret@host/db")
    assert "secret" not in str(raised.value)
    assert "someone" in str(raised.value)


FULL_DISK = """
import sys
from datetime import UTC, datetime
from pathlib import Path
from couler.errors import StateError
from couler.state import Journal, RunRecord, StepRecord, begin_session, create_run, open_database
from couler.state import steps_of

folder, now = Path(sys.argv[1]), datetime.now(UTC)
database = open_database(f"sqlite:///{folder}/couler.db")
create_run(database, RunRecord("r1", "w", "0" * 64, "local", now), "{}")
journal = Journal(database, "r1", begin_session(database, "r1", pid=1, host="h", started=now))
with (folder / "ballast").open("wb", buffering=0) as ballast:
    try:
        while True:
            ballast.write(bytes(4096))
    except OSError:
        pass
flushed = 0
try:
    for flushed in range(1000):
        path = f"s{flushed}"
        journal.step_ended(StepRecord(path, path, "succeeded", now, 1, flushed, message="x" * 500))
        journal.flush()
except StateError as error:
    assert "the disk is full" in str(error), error
else:
    sys.exit("the disk did not fill")
assert len(steps_of(database, "r1")) == flushed, "a flush that failed has left something"
assert not journal.is_empty
(folder / "ballast").unlink()
journal.flush()
assert [step.path for step in steps_of(database, "r1")] == [f"s{n}" for n in range(flushed + 1)]
print("ok")
"""


def test_a_full_disk_loses_nothing(tmp_path: Path) -> None:
    """On a real small disk: what was flushed is there, what was noted is written later."""
    mount = f"mount -t tmpfs -o size=512k tmpfs {tmp_path}"
    unshare = shutil.which("unshare")
    if unshare is None or subprocess.run([unshare, "-rm", "sh", "-c", mount]).returncode:
        pytest.skip("no small disk can be mounted here")
    command = f'{mount} && exec "$0" -c "$1" {tmp_path}'
    done = subprocess.run(
        [unshare, "-rm", "sh", "-c", command, sys.executable, FULL_DISK],
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode, done.stdout) == (0, "ok\n"), done.stderr
