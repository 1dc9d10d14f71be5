"""Entries of the cache: kept, found, pinned and removed; and what gc leaves of the store."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import replace
from datetime import datetime, timedelta
from pathlib import Path

import pytest

from couler.errors import CacheEntryNotFoundError, StoreError
from couler.state import Database, Journal, RunRecord, StepRecord, create_run, delete_run
from couler.state.cache import (
    find_entries,
    list_entries,
    look_up,
    pin_entries,
    remove_entries,
    stats_of_cache,
)
from couler.state.entries import Entry
from couler.state.garbage import collect_garbage
from couler.state.holds import hold_objects
from couler.state.records import CacheDecision
from couler.store import ObjectStore, parse_reference
from tests.state.samples import IR, JSON, NOON, RUN
from tests.support.cache_entries import add_entry, use_entry

NONE = timedelta(0)


def entry(key: str, **fields: object) -> Entry:
    made = Entry(
        key=key * 64 if len(key) == 1 else key,
        workflow="train",
        step="fit",
        size_bytes=10,
        cost_s=2.5,
        run_id="r1",
        path="fit",
        outputs={},
        created=NOON,
        last_used=NOON,
    )
    return replace(made, **fields)  # type: ignore[arg-type]  # fields of the entry


def keys(database: Database, **wanted: object) -> list[str]:
    return [found.key[0] for found in list_entries(database, **wanted)]  # type: ignore[arg-type]  # filters


# entries -------------------------------------------------------------------------------------


def test_an_entry_comes_back_as_it_was(database: Database) -> None:
    made = entry("a", outputs=JSON, hits=3, pinned=True, size_bytes=2**40)
    add_entry(database, made, ["1" * 64, "2" * 64])
    assert look_up(database, made.key) == made
    assert look_up(database, "b" * 64) is None


def test_entries_are_listed_by_their_last_use(database: Database) -> None:
    for number, key in enumerate("abc"):
        used = NOON + timedelta(hours=number)
        add_entry(database, entry(key, last_used=used, workflow=f"w{number % 2}"), [])
    assert keys(database) == ["c", "b", "a"]
    assert keys(database, workflow="w0") == ["c", "a"]
    assert keys(database, unused_since=NOON + timedelta(hours=1)) == ["a"]


def test_what_was_used_meanwhile_is_not_removed(database: Database) -> None:
    add_entry(database, entry("a"), [])
    assert remove_entries(database, ["a" * 64], unused_since=NOON).keys == ()
    assert remove_entries(database, ["a" * 64], unused_since=NOON + timedelta(seconds=1)).keys


def test_many_keys_are_removed_at_once(database: Database) -> None:
    many = [f"{number:064x}" for number in range(601)]
    for key in many:
        add_entry(database, entry(key), [])
    pin_entries(database, many, pinned=True)
    pin_entries(database, many[1:], pinned=False)
    assert len(remove_entries(database, many).keys) == 600
    assert [found.key for found in list_entries(database)] == [many[0]]


def test_entries_are_found_by_key_beginning_and_step(database: Database) -> None:
    add_entry(database, entry("ab" + "0" * 62), [])
    add_entry(database, entry("ac" + "0" * 62, workflow="other"), [])
    add_entry(database, entry("b", step="load"), [])

    def found(text: str) -> set[str]:
        return {item.key[:2] for item in find_entries(database, text)}

    assert found("ab") == {"ab"}
    assert found("b" * 64) == {"bb"}
    assert found("fit") == {"ab", "ac"}
    assert found("other/fit") == {"ac"}
    for text in ("", "a_", "x", "%", "other/load"):
        with pytest.raises(CacheEntryNotFoundError, match="has no entry"):
            find_entries(database, text)
    with pytest.raises(CacheEntryNotFoundError, match="several"):
        find_entries(database, "a")


@pytest.mark.usefixtures("session")
def test_statistics(database: Database) -> None:
    assert stats_of_cache(database) == (0, 0, 0, 0, 0, 0, 0, 0, 0, 0.0, 0.0, 0)
    add_entry(database, entry("a", pinned=True), [])
    add_entry(database, entry("b", size_bytes=2**40), ["1" * 64])
    remove_entries(database, ["b" * 64])
    add_entry(database, entry("b", size_bytes=2**40), [])
    with Journal(database, "r1", 1) as journal:
        for kind in (
            "hit",
            "hit",
            "hit",
            "passed",
            "passed",
            "miss",
            "stored",
            "evicted",
            "rejected",
        ):
            journal.cache_decided(CacheDecision("fit", "a" * 64, kind, "", NOON))  # type: ignore[arg-type]  # one of the kinds
        journal.flush()
    found = stats_of_cache(database)
    assert found == (2, 1, 2**40 + 10, 10, 3, 2, 1, 1, 1, 0.0, 0.0, 1)
    delete_run(database, "r1")
    assert stats_of_cache(database) == found


# garbage -------------------------------------------------------------------------------------


@pytest.fixture
def put(store: ObjectStore, tmp_path: Path) -> Callable[..., str]:
    """Store a file, or a directory of files, and make its objects old."""

    def put_files(*contents: str, young: bool = False) -> str:
        if len(contents) == 1:
            path = tmp_path / "file.txt"
            path.write_text(contents[0])
        else:
            path = tmp_path / f"folder-{contents[0]}"
            path.mkdir(exist_ok=True)
            for number, content in enumerate(contents):
                (path / str(number)).write_text(content)
        reference = store.put(path)
        for digest in () if young else store.digests(reference):
            object_path = store.local_path(f"{digest}/x")
            assert object_path is not None
            os.utime(object_path, (0, 0))
        return reference

    return put_files


def outputs_of(reference: str) -> dict[str, object]:
    kind = "directory" if reference.endswith("/") else "file"
    return {"made": {"text": reference, "type": kind}, "count": {"text": "1", "type": "int"}}


def add_files(database: Database, store: ObjectStore, made: Entry, reference: str) -> None:
    made = replace(made, outputs=outputs_of(reference))
    add_entry(database, made, store.digests(reference))


def record(database: Database, reference: str, path: str = "fit", gathered: bool = False) -> None:
    outputs = outputs_of(reference)
    if gathered:
        outputs["made"] = [None, outputs["made"]]
    with Journal(database, "r1", 1) as journal:
        journal.step_ended(
            StepRecord(path, "fit", "succeeded", NOON, session=1, ordinal=1, outputs=outputs)
        )
        journal.flush()


@pytest.mark.usefixtures("session")
def test_what_entries_and_steps_refer_to_stays(
    database: Database, store: ObjectStore, put: Callable[..., str]
) -> None:
    kept = [put("of an entry"), put("a", "b"), put("of a step"), put("c", "d"), put("of an item")]
    garbage = [put("garbage"), put("e", "f")]
    add_files(database, store, entry("a"), kept[0])
    add_files(database, store, entry("b"), kept[1])
    record(database, kept[2], "one")
    record(database, kept[3], "two")
    record(database, kept[4], "three", gathered=True)
    removed = frozenset(digest for reference in garbage for digest in store.digests(reference))
    size_bytes = len("garbage") + 2 + store_size(store, garbage[1])
    expected = (frozenset(), removed, size_bytes, 0, 9)
    assert len(removed) == 4
    assert collect_garbage(database, store, dry_run=True) == expected
    assert all(store.exists(reference) for reference in garbage)
    assert collect_garbage(database, store) == expected
    for reference in kept:
        store.verify(reference)
    assert not any(store.exists(reference) for reference in garbage)
    assert len(collect_garbage(database, store).objects) == 0

    delete_run(database, "r1")
    assert len(collect_garbage(database, store).objects) == 5
    assert [store.exists(reference) for reference in kept] == [True, True, False, False, False]


def test_what_a_run_has_taken_stays_though_its_entry_is_gone(
    database: Database,
    store: ObjectStore,
    put: Callable[..., str],
    add_run: Callable[..., RunRecord],
) -> None:
    reference = put("taken")
    add_files(database, store, entry("a"), reference)
    add_run("r2", status="running")
    hold_objects(database, "r2", store.digests(reference), of_cache=True)
    for dry_run in (True, False):
        collected = collect_garbage(database, store, unused_for=NONE, dry_run=dry_run)
        assert collected[:2] == ({"a" * 64}, frozenset())
    store.verify(reference)
    delete_run(database, "r2")
    assert len(collect_garbage(database, store).objects) == 1


def test_files_that_a_run_was_started_with_stay(
    database: Database, store: ObjectStore, put: Callable[..., str]
) -> None:
    kept, garbage = [put("data"), put("a", "b")], put("garbage")
    for name, reference in zip(("r1", "r2"), kept, strict=True):
        run = replace(RUN, id=name, parameters=outputs_of(reference))
        create_run(database, run, IR)
    assert len(collect_garbage(database, store).objects) == 1
    for reference in kept:
        store.verify(reference)
    assert not store.exists(garbage)


def store_size(store: ObjectStore, reference: str) -> int:
    digest = parse_reference(reference).digest
    return next(item.size for item in store.objects() if item.digest == digest)


def test_entries_go_first_and_their_objects_with_them(
    database: Database, store: ObjectStore, put: Callable[..., str]
) -> None:
    old, pinned, new, shared = put("old"), put("pinned"), put("new"), put("shared")
    now = datetime.now(NOON.tzinfo)
    add_files(database, store, entry("a"), old)
    add_files(database, store, entry("b", pinned=True), pinned)
    add_files(database, store, entry("c", last_used=now), new)
    add_files(database, store, entry("d"), shared)
    add_files(database, store, entry("e", last_used=now), shared)
    for dry_run in (True, False):
        collected = collect_garbage(database, store, unused_for=timedelta(days=30), dry_run=dry_run)
        assert collected.entries == {"a" * 64, "d" * 64}
        assert collected.objects == {parse_reference(old).digest}
        assert collected[2:] == (3, 0, 3)
    assert sorted(keys(database)) == ["b", "c", "e"]
    assert [store.exists(ref) for ref in (old, pinned, new, shared)] == [False, True, True, True]


def test_an_interruption_after_the_entries_leaves_only_objects(
    database: Database, store: ObjectStore, put: Callable[..., str]
) -> None:
    references = [put("one"), put("two")]
    for key, reference in zip("ab", references, strict=True):
        add_files(database, store, entry(key), reference)

    class Failing(ObjectStore):
        def delete(self, digest: str, *, before: float | None = None) -> bool:
            raise StoreError("the store is gone")

    with pytest.raises(StoreError):
        collect_garbage(database, Failing(store.url), unused_for=NONE)
    assert keys(database) == []
    assert all(store.exists(reference) for reference in references)
    assert len(collect_garbage(database, store).objects) == 2


def test_an_entry_that_lost_an_object_goes_unless_it_is_pinned(
    database: Database, store: ObjectStore, put: Callable[..., str]
) -> None:
    whole, lost = put("whole"), put("lost", "other")
    for key, reference, pinned in (("a", whole, False), ("b", lost, False), ("c", lost, True)):
        add_files(database, store, entry(key, pinned=pinned), reference)
    store.delete(parse_reference(lost).digest)
    assert len(collect_garbage(database, store).entries) == 1
    assert sorted(keys(database)) == ["a", "c"]


def test_what_is_young_stays(
    database: Database, store: ObjectStore, put: Callable[..., str]
) -> None:
    fresh = put("young", young=True)
    touched = put("touched")
    store.touch(touched)
    assert len(collect_garbage(database, store).objects) == 0
    assert len(collect_garbage(database, store, grace=timedelta(seconds=-60)).objects) == 2
    assert not store.exists(fresh)


def test_what_a_run_stores_or_takes_while_garbage_is_collected_stays(
    database: Database, store: ObjectStore, put: Callable[..., str]
) -> None:
    """Everything happens at the worst moment: after the store was listed."""
    again, taken, cached, lost = put("again"), put("taken"), put("cached"), put("lost", "x")
    add_files(database, store, entry("a"), cached)
    add_files(database, store, entry("b"), lost)
    store.delete(parse_reference(lost).digest)

    class Busy(ObjectStore):
        is_busy = False

        def sweep(self, before: float) -> int:
            return 0

        def objects(self):  # type: ignore[no-untyped-def]  # as the class above it
            yield from list(super().objects())
            put("again", young=True)
            store.touch(taken)
            store.touch(cached)
            use_entry(database, "a" * 64, datetime.now(NOON.tzinfo))
            put("lost", "x", young=True)
            add_files(database, store, entry("b", last_used=datetime.now(NOON.tzinfo)), lost)

    collected = collect_garbage(database, Busy(store.url), unused_for=timedelta(seconds=60))
    assert (collected.entries, collected.objects) == (set(), set())
    for reference in (again, taken, cached, lost):
        store.verify(reference)
    assert sorted(keys(database)) == ["a", "b"]


@pytest.mark.usefixtures("session")
@pytest.mark.parametrize("text", ["", "no reference", "0" * 64 + "/x/", "../../x"])
def test_a_text_that_is_no_reference_holds_nothing_up(
    database: Database, store: ObjectStore, put: Callable[..., str], text: str
) -> None:
    put("garbage")
    record(database, text)
    assert len(collect_garbage(database, store).objects) == 1


@pytest.mark.usefixtures("session")
def test_a_store_that_cannot_be_read_is_left_alone(
    database: Database, store: ObjectStore, put: Callable[..., str]
) -> None:
    reference = put("a", "b")
    record(database, reference)

    class Unreachable(ObjectStore):
        def digests(self, text: str) -> tuple[str, ...]:
            raise StoreError("no network")

    with pytest.raises(StoreError):
        collect_garbage(database, Unreachable(store.url))
    store.verify(reference)
