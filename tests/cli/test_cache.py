"""`couler cache`: what it shows, removes and keeps."""

from __future__ import annotations

import os
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from couler.state import Home, open_database
from couler.state.cache import list_entries
from couler.state.entries import Entry
from couler.store import ObjectStore
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


def test_ls_as_json(couler: Callable, home: Home) -> None:
    told = couler("cache", "ls", "aaa", "--format", "json").json
    (entry,) = told["entries"]
    assert told["schema_version"] == 1
    assert (entry["key"], entry["hits"], entry["size_bytes"]) == ("a" * 64, 2, 2400)
    assert entry["outputs"]["made"]["text"].endswith("/load.txt")
    assert datetime.fromisoformat(entry["last_used"]).tzinfo is not None


def test_an_empty_cache_is_no_error(
    couler: Callable, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COULER_HOME", str(folder / "new"))
    assert couler("cache", "ls")[:2] == (0, "")
    assert couler("cache", "ls", "--format", "json").json["entries"] == []
    assert couler("cache", "stats").out.startswith("entries   0")
    assert couler("cache", "gc").out == "removed 0 entries and 0 files (0 B)\n"


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


def test_gc_removes_what_is_old_and_what_nothing_refers_to(couler: Callable, home: Home) -> None:
    expected = "1 entry and 2 files (2.4 KiB)\n"
    assert couler("cache", "gc", "--dry-run").out == f"would remove {expected}"
    assert keys(home) == "ab"
    assert couler("cache", "gc").out == f"removed {expected}"
    assert keys(home) == "b"
    told = couler("cache", "gc", "--unused-for", "0", "--format", "json").json
    assert (told["entries"], told["objects"], told["kept_objects"]) == (1, 1, 0)
    assert keys(home) == ""


def test_what_is_pinned_stays(couler: Callable, home: Home) -> None:
    told = couler("cache", "pin", "train/load", "bbbb")
    assert (told.code, told.out) == (0, "")
    assert f"pinned {'a' * 12} train/load" in told.err
    assert couler("cache", "ls").out.count("pinned") == 2
    couler("cache", "unpin", "b" * 64)
    couler("cache", "gc", "--unused-for", "0")
    assert keys(home) == "a"


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
