"""What the cache gives up is deleted when nobody needs it, and not before."""

from __future__ import annotations

import os
import socket
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
import sqlalchemy as sa

from couler.errors import StoreError
from couler.state import Database, Journal, RunRecord, begin_session, own_run
from couler.state.holds import hold_objects, note_garbage, release_runs
from couler.state.leftovers import sweep_garbage
from couler.state.runs import delete_run, note_session
from couler.state.tables import cache_garbage, cache_objects
from couler.store import ObjectStore, content_of
from tests.state.samples import NOON
from tests.state.test_admission import offer, settle

HERE = socket.gethostname()
LONG_AGO = 1e9


@pytest.fixture
def put(store: ObjectStore, tmp_path: Path) -> Callable[..., str]:
    """Store a text, as old as it may be, and return its digest."""

    def put_text(text: str, *, age: float = LONG_AGO) -> str:
        (tmp_path / "file").write_text(text)
        reference = store.put(tmp_path / "file")
        path = store.local_path(reference)
        assert path is not None
        os.utime(path, (path.stat().st_mtime - age,) * 2)
        return content_of(reference)

    return put_text


def note(database: Database, *digests: str) -> None:
    with database.write() as connection:
        for digest in digests:
            note_garbage(connection, sa.select(sa.literal(digest)))


def noted(database: Database) -> set[str]:
    with database.read() as connection:
        return set(connection.execute(sa.select(cache_garbage.c.digest)).scalars())


def sweep(database: Database, store: ObjectStore) -> int:
    return sweep_garbage(database, store, host=HERE).objects


def test_what_nobody_needs_is_deleted_and_struck_off(
    database: Database, store: ObjectStore, put: Callable[..., str]
) -> None:
    digests = [put(f"text {number}") for number in range(230)]
    other = put("not noted")
    note(database, *digests, "f" * 64)
    assert sweep(database, store) == 230
    assert [item.digest for item in store.objects()] == [other]
    assert noted(database) == set()


def test_what_a_deleted_run_alone_needed_is_garbage(
    database: Database,
    store: ObjectStore,
    put: Callable[..., str],
    add_run: Callable[..., RunRecord],
) -> None:
    add_run("r1")
    add_run("r2")
    alone, shared = put("alone"), put("shared")
    hold_objects(database, "r1", [alone, shared], of_cache=True)
    hold_objects(database, "r2", [shared], of_cache=False)
    delete_run(database, "r1")
    assert sweep(database, store) == 1
    assert [item.digest for item in store.objects()] == [shared]


def test_a_run_that_succeeded_leaves_its_files_to_the_cache(
    database: Database, add_run: Callable[..., RunRecord]
) -> None:
    kept, lost, own, other = ("1" * 64, "2" * 64, "3" * 64, "4" * 64)
    add_run("r1", status="succeeded")
    settle(database, offer("a" * 64, digests=(kept, lost)))
    with database.write() as connection:
        connection.execute(sa.delete(cache_objects).where(cache_objects.c.digest == lost))
    for status in ("running", "failed", "cancelled"):
        add_run(status, status=status)
        hold_objects(database, status, [other], of_cache=True)
    # What is of the cache and of the run besides is the run's, in whatever order that is told.
    for own_of_cache in (True, False, True):
        hold_objects(database, "r1", [own], of_cache=own_of_cache)
    assert release_runs(database)
    assert noted(database) == {lost}
    assert not release_runs(database)
    note(database, own, other)

    class Nothing:
        lag_s = 0.0

        def delete(self, digest: str, *, before: float | None = None) -> bool:
            raise AssertionError(f"{digest} is needed")

        def size_of(self, digest: str) -> int | None:
            return 1

    with database.write() as connection:
        connection.execute(sa.delete(cache_garbage).where(cache_garbage.c.digest == lost))
    assert sweep_garbage(database, Nothing(), host=HERE) == (0, 0, 0)


@pytest.fixture
def live(database: Database, add_run: Callable[..., RunRecord], tmp_path: Path) -> Path:
    """The folder of a run whose session began an hour ago."""
    folder = tmp_path / "runs" / "r1"
    add_run("r1", folder=str(folder), host=HERE)
    hour_ago = datetime.now(UTC) - timedelta(hours=1)
    begin_session(database, "r1", pid=1, host=HERE, started=hour_ago)
    return folder


def test_what_was_written_since_a_session_began_waits_for_its_end(
    database: Database, store: ObjectStore, put: Callable[..., str], live: Path
) -> None:
    """Its run may have made it again, and not told anybody yet."""
    old, young = put("old", age=3700), put("young", age=3500)
    with own_run(live):
        note(database, old, young)
        assert sweep(database, store) == 1
        assert [item.digest for item in store.objects()] == [young]
        assert noted(database) == {young}
        with Journal(database, "r1", 1) as journal:
            journal.session_ended("succeeded")
            journal.run_updated(status="succeeded")
            journal.flush()
        assert sweep(database, store) == 1
    assert noted(database) == set()


def test_a_dead_session_makes_nothing_wait(
    database: Database, store: ObjectStore, put: Callable[..., str], live: Path
) -> None:
    note(database, put("young", age=0))
    assert sweep(database, store) == 1


def test_a_session_of_another_machine_is_taken_to_live(
    database: Database, store: ObjectStore, put: Callable[..., str], live: Path
) -> None:
    """For an hour since its last sign of life: it cannot be seen whether it was killed."""
    note(database, put("young", age=0))
    now = datetime.now(UTC)
    session = begin_session(
        database, "r1", pid=1, host="elsewhere", started=now - timedelta(minutes=59)
    )
    assert sweep(database, store) == 0
    session = begin_session(
        database, "r1", pid=1, host="elsewhere", started=now - timedelta(days=9)
    )
    note_session(database, "r1", session, now - timedelta(minutes=59))
    assert sweep(database, store) == 0
    note_session(database, "r1", session, now - timedelta(minutes=61))
    assert sweep(database, store) == 1


def test_a_session_of_another_machine_that_never_gave_a_sign_is_dead_after_an_hour(
    database: Database, store: ObjectStore, put: Callable[..., str], live: Path
) -> None:
    note(database, put("young", age=0))
    begin_session(database, "r1", pid=1, host="elsewhere", started=NOON)
    assert sweep(database, store) == 1


def test_an_object_that_is_written_again_while_it_is_looked_at_stays(
    database: Database, store: ObjectStore, put: Callable[..., str], live: Path
) -> None:
    """Between the look at the database and the deletion: the file's own time decides."""
    digest = put("text", age=3700)

    class Slow(ObjectStore):
        def delete(self, digest: str, *, before: float | None = None) -> bool:
            put("text", age=0)
            return super().delete(digest, before=before)

    with own_run(live):
        note(database, digest)
        assert sweep(database, Slow(store.url)) == 0
    assert store.size_of(digest) is not None


def test_what_cannot_be_deleted_now_is_deleted_later(
    database: Database, store: ObjectStore, put: Callable[..., str]
) -> None:
    digests = [put("one"), put("two")]
    note(database, *digests)

    class Failing(ObjectStore):
        left = 1

        def delete(self, digest: str, *, before: float | None = None) -> bool:
            if not self.left:
                raise StoreError("the store is gone")
            self.left -= 1
            return super().delete(digest, before=before)

    with pytest.raises(StoreError):
        sweep(database, Failing(store.url))
    assert noted(database) == set(digests)
    assert sweep(database, store) == 1
    assert noted(database) == set()
