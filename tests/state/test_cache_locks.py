"""Who decides what the cache keeps excludes all others who do, and who needs something of it.

With SQLite nobody can write beside another; PostgreSQL lets them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor, wait
from datetime import timedelta
from pathlib import Path

import pytest
import sqlalchemy as sa

from couler.state import Database, RunRecord, leftovers
from couler.state.admission import Eviction, count_hit, evict_entries
from couler.state.cache import list_entries, look_up, pin_entries, remove_entries
from couler.state.holds import hold_objects, note_garbage
from couler.state.ledger import Ledger
from couler.state.leftovers import sweep_garbage
from couler.store import ObjectStore, content_of
from tests.state.samples import NOON
from tests.state.test_admission import offer, settle

A = "a" * 64
SOON_S = 0.3
"""For so long somebody else is given the chance to get in between."""


@pytest.fixture
def beside() -> Iterator[Callable[..., Future[object]]]:
    """Call something in another thread, and give it a chance to end."""
    with ThreadPoolExecutor(1) as pool:

        def call(function: Callable[..., object], *args: object, **named: object) -> Future[object]:
            called = pool.submit(function, *args, **named)
            wait([called], timeout=SOON_S)
            return called

        yield call


@pytest.fixture(autouse=True)
def _run(add_run: Callable[..., RunRecord]) -> None:
    add_run("r1")


def test_nobody_pins_what_is_being_evicted(
    database: Database, beside: Callable[..., Future[object]]
) -> None:
    settle(database, offer(A))
    pinned: list[Future[object]] = []

    def choose(_ledger: Ledger) -> list[Eviction]:
        pinned.append(beside(pin_entries, database, [A], pinned=True))
        return [Eviction(A, "no room")]

    evict_entries(database, choose)
    assert pinned[0].result() == ()
    assert list_entries(database) == []


def test_what_is_just_used_is_not_removed_as_unused(
    database: Database, beside: Callable[..., Future[object]]
) -> None:
    settle(database, offer(A))
    entry = look_up(database, A)
    assert entry is not None
    unused_since = NOON + timedelta(minutes=1)
    removed: list[Future[object]] = []

    def credit_of(_ledger: Ledger) -> float:
        removed.append(beside(remove_entries, database, [A], unused_since=unused_since))
        return 0.0

    count_hit(database, entry, NOON + timedelta(hours=1), credit_of)
    assert removed[0].result() == ((), ())
    assert look_up(database, A) is not None


@pytest.fixture
def put(tmp_path: Path) -> Callable[[str], str]:
    def put_text(text: str) -> str:
        (tmp_path / "file").write_text(text)
        return content_of(ObjectStore(f"file://{tmp_path}/store").put(tmp_path / "file"))

    return put_text


def note(database: Database, digest: str) -> None:
    with database.write() as connection:
        note_garbage(connection, sa.select(sa.literal(digest)))


def test_what_is_held_and_there_stays(
    database: Database,
    put: Callable[[str], str],
    tmp_path: Path,
    beside: Callable[..., Future[object]],
) -> None:
    looked: list[Future[object]] = []

    class Slow(ObjectStore):
        def delete(self, digest: str, *, before: float | None = None) -> bool:
            looked.append(beside(hold_and_look, digest))
            return super().delete(digest, before=before)

    store = Slow(f"file://{tmp_path}/store")

    def hold_and_look(digest: str) -> int | None:
        hold_objects(database, "r1", [digest], of_cache=True)
        return store.size_of(digest)

    digest = put("text")
    note(database, digest)
    sweep_garbage(database, store, host="here")
    assert looked[0].result() == store.size_of(digest)


def test_what_is_held_between_two_transactions_of_a_deletion_stays(
    database: Database,
    put: Callable[[str], str],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    digests = sorted(put(f"text {number}") for number in range(105))
    for digest in digests:
        note(database, digest)
    is_empty = leftovers._is_empty

    def hold_the_last(database: Database, last: str) -> bool:
        if last:
            hold_objects(database, "r1", digests[-1:], of_cache=True)
        return is_empty(database, last)

    monkeypatch.setattr(leftovers, "_is_empty", hold_the_last)
    store = ObjectStore(f"file://{tmp_path}/store")
    assert sweep_garbage(database, store, host="here").objects == 104
    assert [item.digest for item in store.objects()] == digests[-1:]
