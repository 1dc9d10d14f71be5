"""The entries of an emulated cluster and their files, kept within a budget."""

from __future__ import annotations

import json
import threading
import typing as t
from collections.abc import Iterable
from datetime import timedelta

import pytest

from couler.backends.argo.memo_entries import MemoEntries
from couler.backends.shared_entries import CacheView
from couler.caching.policies.next_use import NextUseDensity
from couler.caching.policies.simple import KeepNone, LeastRecentlyUsed
from couler.control.cache_sync import SyncReport
from couler.errors import EngineError, StoreError
from couler.store.run_files import RunFiles
from tests.support.shared_cache import MAP, NOON, Place, keys_of, text_of


def test_the_policy_says_what_goes(place: Place) -> None:
    place.entry("slow", 50, hours_ago=9)
    place.entry("quick", 50, hours_ago=8)
    nodes = {
        f"run-{key}-1": {"startedAt": "2026-01-01T00:00:00Z", "finishedAt": f"2026-01-01T{end}Z"}
        for key, end in (("slow", "02:00:00"), ("quick", "00:00:02"))
    }
    place.workflow("old", nodes, ended=True)
    assert keys_of(place.sync(60, LeastRecentlyUsed(), dry_run=True)) == ["slow"]
    assert keys_of(place.sync(60, NextUseDensity(), dry_run=True)) == ["quick"]
    assert keys_of(place.sync(500, KeepNone(), dry_run=True)) == ["slow", "quick"]
    assert place.keys() == place.files() == {"slow", "quick"}


def test_what_a_run_reads_that_goes_on_stays(place: Place) -> None:
    for number, key in enumerate("abc"):
        place.entry(key, 10, hours_ago=9 - number)
    read = {"inputs": {"parameters": [{"name": "d", "value": "run-a/make/f"}]}}
    place.workflow("goes-on", {"n": {"id": "n", **read}}, ended=False)
    ended = {"outputs": {"artifacts": [{"s3": {"key": "run-b/make/f"}}]}}
    place.workflow("ended", {"n": {"id": "n", **ended}}, ended=True)
    report = place.sync(0)
    assert keys_of(report) == ["b", "c"]
    assert (report.in_use, report.over_bytes) == (1, 10)
    assert place.keys() == place.files() == {"a"}


def test_what_was_used_a_moment_ago_stays(place: Place) -> None:
    place.entry("old", 10)
    place.entry("hit", 10, hours_ago=9, used=0.1)
    assert keys_of(place.sync(0)) == ["old"]
    assert keys_of(place.sync(0, grace=timedelta(minutes=1))) == ["hit"]


def test_entries_without_files_and_config_maps_of_others_stay(place: Place) -> None:
    place.entry("a", 10)
    made = {"nodeID": "x-1", "outputs": {"result": "3"}}
    times = dict.fromkeys(("creationTimestamp", "lastHitTimestamp"), "2020-01-01T00:00:00Z")
    elsewhere = {"artifacts": [{"name": "f", "s3": {"key": "run-a/make/f", "bucket": "other"}}]}
    place.put("numbers", {"n": json.dumps({**made, **times})})
    place.put("numbers", {"o": json.dumps({**made, **times, "outputs": elsewhere})})
    place.put("parameters", {"p": "no JSON"}, label="Parameter")
    assert keys_of(place.sync(0)) == ["a"]
    assert place.keys() == {"n", "o", "p"}


class HitAfterView(MemoEntries):
    """Entries of which one is hit between the look and the removal."""

    def __init__(self, place: Place, key: str) -> None:
        super().__init__(place.cluster.api())
        self._place, self._key = place, key

    def view(self) -> CacheView:
        found = super().view()
        location = f"run-{self._key}/make/f"
        text = text_of(self._key, location, NOON - timedelta(hours=5), NOON)
        self._place.put(MAP, {self._key: text})
        return found


def test_what_is_hit_meanwhile_stays(place: Place) -> None:
    place.entry("a", 10)
    place.entry("b", 10)
    report = place.sync(0, shared=HitAfterView(place, "a"))
    assert (keys_of(report), report.used_meanwhile, report.over_bytes) == (["b"], 1, 10)
    assert place.keys() == place.files() == {"a"}


class LateWriter(MemoEntries):
    """Entries beside which others are written between a read and the update."""

    def __init__(self, place: Place) -> None:
        api = place.cluster.api()
        super().__init__(api)
        put, self.conflicts = api.put_config_map, 0

        def after_another(found: t.Any) -> t.Any:
            if self.conflicts < 2:
                self.conflicts += 1
                place.entry(f"late-{self.conflicts}", 1)
            return put(found)

        api.put_config_map = after_another  # type: ignore[method-assign]  # a writer beside it


def test_an_update_that_another_came_before_is_made_again(place: Place) -> None:
    place.entry("a", 10)
    shared = LateWriter(place)
    assert keys_of(place.sync(0, shared=shared)) == ["a"]
    assert shared.conflicts == 2
    assert place.keys() == place.files() == {"late-1", "late-2"}


def test_several_may_sync_at_the_same_time(place: Place) -> None:
    for number in range(24):
        place.entry(f"k{number}", 10, hours_ago=30 - number, place=f"couler-w-{number % 3}")
    reports: list[SyncReport] = []
    threads = [threading.Thread(target=lambda: reports.append(place.sync(40))) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    gone = [key for report in reports for key in keys_of(report)]
    assert sorted(gone) == sorted({*gone})
    assert place.keys() == place.files() == {f"k{number}" for number in range(20, 24)}


class LostFiles(RunFiles):
    def remove(self, places: Iterable[str]) -> int:
        raise StoreError("the repository is away")


def test_the_entry_goes_before_its_files(place: Place) -> None:
    place.entry("a", 10)
    with pytest.raises(StoreError, match="is away"):
        place.sync(0, files=LostFiles(str(place.folder)))
    assert (place.keys(), place.files()) == (set(), {"a"})
    assert place.sync(0).entries == 0


def test_a_run_of_which_nobody_knows_what_it_reads_forbids_all(place: Place) -> None:
    place.entry("a", 10)
    place.workflow("packed", {}, ended=False)
    place.cluster.set_status("packed", {"nodes": None, "offloadNodeStatusVersion": "fnv:1"})
    with pytest.raises(EngineError, match="packed are kept in a database of Argo's"):
        place.sync(0)
    assert place.keys() == place.files() == {"a"}


def test_an_entry_that_argo_has_not_written_is_told(place: Place) -> None:
    place.put(MAP, {"k": "{}"})
    with pytest.raises(EngineError, match=f"the entry k of the config map {MAP} is none"):
        place.sync(0)


def test_a_budget_is_no_less_than_nothing(place: Place) -> None:
    with pytest.raises(ValueError, match="a budget is at least 0, not -1"):
        place.sync(-1)
