"""`couler cache`: what it shows, removes and keeps."""

from __future__ import annotations

import os
import socket
from collections.abc import Callable, Iterable, Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
import sqlalchemy as sa

from couler.cli import cache
from couler.ir.policies import Cache
from couler.ir.serialize import write_json
from couler.state import (
    CacheDecision,
    Database,
    Home,
    Journal,
    RunRecord,
    begin_session,
    create_run,
    open_database,
    own_run,
)
from couler.state.cache import list_entries, pin_entries, remove_entries
from couler.state.decisions import record_decisions
from couler.state.entries import Entry
from couler.state.holds import hold_objects
from couler.state.runs import change_run
from couler.state.tables import cache_entries
from couler.store import ObjectStore
from tests.corpus.build import flow, sh
from tests.support.cache_entries import add_entry

NOW = datetime.now(UTC)


@pytest.fixture
def home(folder: Path, monkeypatch: pytest.MonkeyPatch) -> Home:
    """A home with two entries, one of them old, and a file that nothing refers to."""
    monkeypatch.setenv("COULER_HOME", str(folder / "home"))
    home = Home(folder / "home")
    store = ObjectStore(home.store_url)
    with open_database(home.database_url) as database:
        for key, step, age in (("a", "load", timedelta(days=90)), ("b", "fit", timedelta(0))):
            (folder / f"{step}.txt").write_text(step * 600)
            reference = store.put(folder / f"{step}.txt")
            entry = Entry(
                key=key * 64,
                workflow="train",
                step=step,
                size_bytes=store.size(reference),
                cost_s=100.0,
                run_id="train-1",
                path=step,
                place=step,
                outputs={"made": {"text": reference, "type": "file"}},
                created=NOW - age,
                last_used=NOW - age,
                hits=2,
            )
            add_entry(database, entry, store.digests(reference))
    (folder / "garbage").write_text("garbage")
    store.put(folder / "garbage")
    for item in store.objects():
        path = store.local_path(f"{item.digest}/x")
        assert path is not None
        os.utime(path, (0, 0))
    return home


def keys(home: Home) -> str:
    with open_database(home.database_url) as database:
        return "".join(sorted(entry.key[0] for entry in list_entries(database)))


def test_ls_shows_the_last_used_first(couler: Callable, home: Home) -> None:
    told = couler("cache", "ls")
    assert told.code == 0
    header, first, second = told.out.splitlines()
    assert header.split() == ["key", "step", "size", "took", "hits", "last", "used", "(UTC)"]
    assert first.split()[:7] == ["b" * 12, "train/fit", "1.8", "KiB", "1", "min", "40"]
    assert second.startswith("a" * 12)
    assert couler("cache", "ls", "load").out.splitlines()[1:] == [second]
    assert couler("cache", "ls", "--workflow", "other").out == ""


def test_stats(couler: Callable, home: Home, monkeypatch: pytest.MonkeyPatch) -> None:
    told = couler("cache", "stats").out.splitlines()
    assert told[:2] == ["entries   2, of which 0 pinned", "size      4.1 KiB"]
    assert "budget    none: everything is kept" in told
    limited = {"COULER_CACHE_BUDGET": "10kB", "COULER_CACHE_POLICY": "lru"}
    for name, value in limited.items():
        monkeypatch.setenv(name, value)
    assert "budget    9.8 KiB, 42% used, by lru" in couler("cache", "stats").out.splitlines()
    shown = couler("cache", "stats", "--format", "json").json
    assert (shown["budget_bytes"], shown["size_bytes"], shown["policy"]) == (10_000, 4200, "lru")
    flags = ("--cache-budget", "1MB", "--cache-policy", "next-use")
    assert "budget    976.6 KiB, 0% used, by next-use" in couler("cache", "stats", *flags).out
    assert told[-1] == "garbage   no files"


def test_stats_tell_what_runs_hold_outside_of_the_entries(
    couler: Callable, home: Home, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One file that two runs hold, one of a run that has succeeded, and one that an entry has."""
    assert "held      nothing outside of the entries" in couler("cache", "stats").out.splitlines()
    store = ObjectStore(home.store_url)
    digests = {item.size: item.digest for item in store.objects()}
    (home.root / "more").write_text("x" * 1024)
    more = store.digests(store.put(home.root / "more"))
    with open_database(home.database_url) as database:
        for run_id, status in (("r1", "failed"), ("r2", "cancelled"), ("r3", "succeeded")):
            record = RunRecord(run_id, "train", "w", "local", created=NOW, status=status)
            create_run(database, record, "{}")
            held = [digests[7], digests[2400]] if status != "succeeded" else more
            hold_objects(database, run_id, held, of_cache=status != "succeeded")
    assert (
        "held      1.0 KiB outside of the entries by 3 runs, 7 B of it by 2 that have not "
        "succeeded; `couler delete RUN` frees what a run holds"
    ) in couler("cache", "stats").out.splitlines()
    shown = couler("cache", "stats", "--format", "json").json
    assert (shown["held_runs"], shown["held_bytes"]) == (3, 1031)
    assert (shown["held_unsucceeded_runs"], shown["held_unsucceeded_bytes"]) == (2, 7)
    monkeypatch.setenv("COULER_STORE_URL", "nowhere://store")
    told = couler("cache", "stats")
    assert told.code == 0
    assert "held      files outside of the entries by 3 runs, some of them by 2 that" in told.out
    assert couler("cache", "stats", "--format", "json").json["held_bytes"] is None


def test_pins_that_are_too_much_are_told_of(couler: Callable, home: Home) -> None:
    couler("cache", "pin", "load")
    budget = ["--cache-budget", "2kB"]
    more = "2.3 KiB, more than the budget of 2.0 KiB: nothing else can be kept"
    too_much = f"what is pinned takes {more}"
    assert f"pinned    {more}" in couler("cache", "stats", *budget).out.splitlines()
    nothing = couler("cache", "stats", "--cache-budget", "0").out.splitlines()
    assert "budget    0 B, 4.1 KiB used, by next-use" in nothing
    assert "pinned    2.3 KiB, more than the budget of 0 B: nothing else can be kept" in nothing
    assert couler("cache", "gc", *budget, "--dry-run").out.splitlines()[-1] == too_much
    assert couler("cache", "gc", *budget).out.splitlines()[-1] == too_much
    assert keys(home) == "a"
    enough = ["--cache-budget", "2400"]
    assert "nothing else" not in couler("cache", "stats", *enough).out
    assert couler("cache", "gc", *enough, "--format", "json").json["pinned_bytes"] == 2400


def test_rm_removes_what_is_not_pinned(couler: Callable, home: Home) -> None:
    couler("cache", "pin", "load")
    told = couler("cache", "rm", "train/load", "bbb")
    assert (told.code, told.out) == (0, "")
    assert told.err.splitlines() == [
        f"kept {'a' * 12} train/load, which is pinned",
        f"removed {'b' * 12} train/fit",
    ]
    assert keys(home) == "a"
    assert couler("cache", "rm", "fit").code == 2


def test_rm_tells_of_what_went_or_was_pinned_meanwhile(
    couler: Callable, home: Home, monkeypatch: pytest.MonkeyPatch
) -> None:
    def after_others(database: Database, named: Iterable[str]) -> object:
        pin_entries(database, ["a" * 64], pinned=True)
        remove_entries(database, ["b" * 64])
        return remove_entries(database, named)

    monkeypatch.setattr(cache, "remove_entries", after_others)
    told = couler("cache", "rm", "load", "fit")
    assert told.code == 0
    assert told.err.splitlines() == [
        f"kept {'a' * 12} train/load, which is pinned",
        f"{'b' * 12} train/fit has just been removed",
    ]


def test_a_store_that_cannot_be_written_has_its_exit_code(couler: Callable, home: Home) -> None:
    store = home.root / "store"
    (store / "lock").unlink()
    (store / "lock").mkdir()  # nobody can open it to write, root neither
    told = couler("cache", "gc")
    assert told.code == 4
    assert f"the artifact store {store}: nothing can be deleted" in told.err
    assert "Traceback" not in told.err


def test_gc_removes_what_is_old_and_what_nothing_refers_to(couler: Callable, home: Home) -> None:
    foreseen = couler("cache", "gc", "--dry-run").out
    assert foreseen == (
        "would remove 1 entry, unused for long or without its files\n"
        "would delete 2 files (2.4 KiB)\n"
    )
    assert keys(home) == "ab"
    told = couler("cache", "gc").out
    assert told == foreseen.replace("would remove", "removed").replace("would delete", "deleted")
    assert keys(home) == "b"
    told = couler("cache", "gc", "--unused-for", "0", "--format", "json").json
    assert (told["entries"], told["objects"], told["kept_objects"]) == (1, 1, 0)
    assert keys(home) == ""


@pytest.mark.parametrize("zero", ["0", "0s", "0.0", "0h0m", "0 d"])
def test_no_time_is_a_duration_however_it_is_written(
    couler: Callable, home: Home, zero: str
) -> None:
    assert couler("cache", "gc", "--unused-for", zero, "--grace", zero).code == 0
    assert keys(home) == ""


def test_gc_foresees_and_does_what_the_budget_asks_for(couler: Callable, home: Home) -> None:
    budget = ["--cache-budget", "2kB", "--cache-policy", "lru", "--unused-for", "999d"]
    foreseen = couler("cache", "gc", *budget, "--dry-run").out
    why = "lru: of least worth, and all is too much"
    assert foreseen == (
        "would evict 1 entry (2.3 KiB) for the budget of 2.0 KiB\n"
        f"  {'a' * 12}  train/load  2.3 KiB  {why}\n"
        "would delete 2 files (2.4 KiB)\n"
    )
    as_json = couler("cache", "gc", *budget, "--dry-run", "--format", "json").json
    assert (as_json["evicted"], as_json["objects"], as_json["kept_objects"]) == (1, 2, 1)
    assert as_json["evictions"] == [
        {
            "key": "a" * 64,
            "workflow": "train",
            "path": "load",
            "run_id": "train-1",
            "size_bytes": 2400,
            "reason": why,
        }
    ]
    assert keys(home) == "ab"
    told = couler("cache", "gc", *budget).out
    assert told == foreseen.replace("would evict", "evicted").replace("would delete", "deleted")
    assert keys(home) == "b"
    assert len(list(ObjectStore(home.store_url).objects())) == 1


@pytest.fixture
def under_way(home: Home) -> Iterator[str]:
    """A run that has come to `load`, the first of its two steps with a cache."""
    cached = Cache()
    load = sh("load", "true", cache=cached)
    workflow = flow("train", load, sh("fit", "true", cache=cached, depends_on=["load"]))
    folder = home.run_folder("train-2")
    record = RunRecord(
        *("train-2", "train", "w", "local"),
        created=NOW,
        folder=str(folder),
        host=socket.gethostname(),
    )
    with open_database(home.database_url) as database, own_run(folder):
        create_run(database, record, write_json(workflow))
        begin_session(database, "train-2", pid=1, host=socket.gethostname(), started=NOW)
        with Journal(database, "train-2", 1) as journal:
            journal.cache_decided(CacheDecision("load", "c" * 64, "miss", "there is no entry", NOW))
            journal.flush()
        yield "train-2"


def test_files_that_wait_for_runs_are_told_of(couler: Callable, home: Home, under_way: str) -> None:
    for item in (store := ObjectStore(home.store_url)).objects():
        store.touch(f"{item.digest}/x")
    budget = ["--cache-budget", "0", "--unused-for", "999d"]
    waiting = "2 files more can go when the runs under way have ended"
    foreseen = couler("cache", "gc", *budget, "--dry-run").out.splitlines()
    assert foreseen[3:] == ["would delete 0 files (0 B)", waiting]
    assert couler("cache", "gc", *budget).out.splitlines()[3:] == ["deleted 0 files (0 B)", waiting]
    garbage = "garbage   2 files that nobody needs; `couler cache gc` deletes them"
    assert garbage in couler("cache", "stats").out.splitlines()


def test_gc_evicts_what_ls_shows_as_worth_least(
    couler: Callable, home: Home, under_way: str
) -> None:
    """What is worth as much but for where the run is, or the one that used the cache last."""
    one_of_both = ["--cache-budget", "3kB", "--cache-policy", "next-use"]

    def goes(told: str) -> str:
        shown = couler("cache", "ls", "--worth", *one_of_both, "--format", "json")
        assert shown.err == f"worth to {told}\n"
        words = ("--unused-for", "999d", "--dry-run", "--format", "json")
        [gone] = couler("cache", "gc", *one_of_both, *words).json["evictions"]
        assert gone["path"] == shown.json["entries"][0]["step"]
        return str(gone["path"])

    with open_database(home.database_url) as database:
        with database.write() as connection:
            connection.execute(sa.update(cache_entries).values(size_bytes=2000))
        assert goes("train-2, which has come to load") == "load"
        with Journal(database, "train-2", 1) as journal:
            journal.cache_decided(CacheDecision("fit", "c" * 64, "miss", "there is no entry", NOW))
            journal.flush()
        assert goes("train-2, which has come to fit") == "fit"
        change_run(database, "train-2", lambda _: {"status": "failed"})
        assert goes("the run after train-2, which used the cache last") == "fit"


def test_a_run_whose_workflow_cannot_be_read_keeps_nobody_from_judging(
    couler: Callable, home: Home
) -> None:
    decision = CacheDecision("load", "c" * 64, "miss", "there is no entry", NOW)
    with open_database(home.database_url) as database:
        record = RunRecord("train-3", "train", "w", "local", created=NOW, status="succeeded")
        create_run(database, record, '{"ir_version": "9"}')
        with database.write() as connection:
            record_decisions(connection, "train-3", [decision])
    told = couler("cache", "ls", "--worth", "--cache-budget", "1MB")
    assert (told.code, told.err) == (0, "")
    assert couler("cache", "gc", "--cache-budget", "0").code == 0


def test_a_budget_without_worth_is_wrong_usage(couler: Callable, home: Home) -> None:
    told = couler("cache", "ls", "--cache-policy", "lru")
    assert (told.code, "--worth" in told.err) == (2, True)


@pytest.mark.parametrize("arguments", [["pin", "nothing"], ["unpin", "nothing"], ["ls", "nothing"]])
def test_an_unknown_entry_is_wrong_usage(
    couler: Callable, home: Home, arguments: list[str]
) -> None:
    told = couler("cache", *arguments)
    assert told.code == 2
    assert 'the cache has no entry "nothing"' in told.err


@pytest.mark.parametrize("text", ["soon", "-1", "1e400d"])
def test_a_duration_that_is_none_is_wrong_usage(couler: Callable, home: Home, text: str) -> None:
    told = couler("cache", "gc", "--unused-for", text)
    assert told.code == 2
    assert "--unused-for" in told.err
    assert keys(home) == "ab"


def test_a_store_that_others_may_use_is_not_cleaned_by_accident(
    couler: Callable, home: Home, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COULER_STORE_URL", home.store_url)
    told = couler("cache", "gc", "--unused-for", "0")
    assert told.code == 2
    assert "--sole-user" in told.err
    assert keys(home) == "ab"
    assert couler("cache", "gc", "--unused-for", "0", "--sole-user").code == 0
    assert keys(home) == ""


def test_a_broken_database_has_its_exit_code(couler: Callable, home: Home) -> None:
    (home.root / "couler.db").write_bytes(b"no database at all" * 100)
    told = couler("cache", "ls")
    assert (told.code, told.out) == (4, "")
    assert "Traceback" not in told.err
