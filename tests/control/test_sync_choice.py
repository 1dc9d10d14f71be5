"""What a sync leaves to other repositories, goes on after, and removes for want of room."""

from __future__ import annotations

import json
import typing as t
from collections.abc import Collection
from datetime import timedelta
from pathlib import Path

import pytest

from couler.backends.argo.memo_entries import MemoEntries, locations_in
from couler.backends.shared_entries import CacheEntry, CacheView
from couler.control.cache_sync import SyncReport
from couler.errors import ConfigurationError, EngineError, FilesLeftError
from couler.ir.cachekey import repository_mark
from couler.store.run_files import RunFiles
from tests.fakes.kubernetes.store import CONFIG_MAPS, WORKFLOWS
from tests.support.argo_cluster import NAMESPACE
from tests.support.shared_cache import MAP, NOON, Place, keys_of, text_of

OTHER = repository_mark("s3://of-others")
PLACE_BYTES = 512 * 1024


def lose(place: Place, key: str) -> None:
    (place.folder / f"run-{key}/make/f").unlink()


# of which repository -----------------------------------------------------------------------------


def test_entries_of_another_repository_stay(place: Place) -> None:
    place.entry("mine", 10, repository=place.mark())
    place.entry("lost", 10, repository=place.mark())
    place.entry("theirs", 10, hours_ago=9_000, repository=OTHER)
    lose(place, "lost")
    lose(place, "theirs")
    report = place.sync(10**9)
    assert keys_of(report) == ["lost"]
    assert (report.entries, report.elsewhere, report.size_bytes) == (2, 1, 10)
    assert keys_of(place.sync(0)) == ["mine"]
    assert place.keys() == {"theirs"}
    assert place.sync(0).removed == ()  # not even where nothing else is left


def add_half_lost(place: Place, hours_ago: float = 5) -> Path:
    """Add an entry b of files f and g, of which f is gone, and an entry a; return g."""
    place.entry("a", 10)
    file = place.folder / "run-b/make/g"
    file.parent.mkdir(parents=True)
    file.write_bytes(b"1")
    made = NOON - timedelta(hours=hours_ago)
    found = json.loads(text_of("b", "run-b/make/f", made, made))
    found["outputs"]["artifacts"].append({"name": "g", "s3": {"key": "run-b/make/g"}})
    found["outputs"]["parameters"].append({"name": "g", "value": "run-b/make/g"})
    place.put(MAP, {"b": json.dumps(found)})
    return file


def add_reader(place: Place, location: str) -> None:
    """Add a Workflow that goes on and reads a file."""
    read = {"inputs": {"artifacts": [{"name": "d", "s3": {"key": location}}]}}
    place.workflow("goes-on", {"n": {"id": "n", **read}}, ended=False)


def end_reader(place: Place) -> None:
    def end(found: dict[str, t.Any]) -> None:
        found["metadata"]["labels"] = {"workflows.argoproj.io/completed": "true"}

    place.cluster.store.change(WORKFLOWS, NAMESPACE, "goes-on", end)


def test_what_is_left_of_its_files_stays_while_a_run_reads_it(place: Place) -> None:
    file = add_half_lost(place)
    add_reader(place, "run-b/make/g")
    foreseen = place.sync(10**9, dry_run=True)
    report = place.sync(10**9)
    why = "some of its files are gone; the others stay for now, as they may be read"
    assert [(one.entry.key, one.reason) for one in report.removed] == [("b", why)]
    assert foreseen == report
    assert (report.freed_bytes, report.used_meanwhile, file.exists()) == (0, 0, True)
    assert place.keys() == {"a", "left-b"}  # nobody takes it any more
    report = place.sync(10**9)
    assert (report.removed, report.in_use, file.exists()) == ((), 1, True)
    end_reader(place)
    assert keys_of(place.sync(10**9)) == ["left-b"]
    assert (place.keys(), file.exists()) == ({"a"}, False)


@pytest.mark.parametrize("marked", [True, False], ids=["told", "not told"])
def test_a_repository_without_any_of_the_files_is_refused(place: Place, marked: bool) -> None:
    place.entry("a", 10, hours_ago=9_000, repository=place.mark() if marked else None)
    lose(place, "a")
    with pytest.raises(ConfigurationError, match="none of the 1 entry has its files"):
        place.sync(0)


# files that stay ---------------------------------------------------------------------------------


class Locked(RunFiles):
    """Files of which some cannot be removed."""

    def __init__(self, folder: Path, *locked: str) -> None:
        super().__init__(str(folder))
        remove = self._filesystem.rm_file
        self.locked = {f"{folder}/run-{key}/make/f" for key in locked}

        def rm_file(place: str) -> None:
            if place in self.locked:
                raise PermissionError(13, "Permission denied", place)
            remove(place)

        self._filesystem = Wrapped(self._filesystem, rm_file)


class Wrapped:
    def __init__(self, filesystem: t.Any, rm_file: t.Callable[[str], None]) -> None:
        self._filesystem = filesystem
        self.rm_file = rm_file

    def __getattr__(self, name: str) -> t.Any:
        return getattr(self._filesystem, name)


def failed(place: Place, files: RunFiles, **options: t.Any) -> tuple[FilesLeftError, SyncReport]:
    with pytest.raises(FilesLeftError) as found:
        place.sync(0, files=files, **options)
    assert isinstance(found.value.report, SyncReport)
    return found.value, found.value.report


class NotPutAside(MemoEntries):
    def put_aside(self, entries: Collection[CacheEntry]) -> None:
        raise EngineError("the cluster is away")


def test_files_that_stay_for_runs_and_that_no_later_sync_finds_are_told(place: Place) -> None:
    file = add_half_lost(place)
    add_reader(place, "run-b/make/g")
    shared = NotPutAside(place.cluster.api())
    error, report = failed(place, RunFiles(str(place.folder)), shared=shared)
    assert (keys_of(report), report.left) == (["b", "a"], (str(file),))
    assert file.exists()
    assert str(error).startswith("the cluster is away. Of 2 entries that went, 1 file (")
    assert str(error).endswith("refers to them any more; remove them yourself when no run does")


class MapGoes(MemoEntries):
    """Entries whose config map somebody removes when they have been removed from it."""

    def __init__(self, place: Place) -> None:
        super().__init__(place.cluster.api())
        self._store = place.cluster.store

    def remove(self, entries: Collection[CacheEntry]) -> tuple[CacheEntry, ...]:
        removed = super().remove(entries)
        self._store.delete(CONFIG_MAPS, NAMESPACE, MAP)
        return removed


def test_what_cannot_be_put_aside_as_its_config_map_is_gone_is_told(place: Place) -> None:
    place.entry("a", 10)
    error, _ = failed(place, Locked(place.folder, "a"), shared=MapGoes(place))
    assert "No entry refers to them any more" in str(error)


# what it takes -----------------------------------------------------------------------------------


def test_a_location_that_another_begins_with_is_not_read() -> None:
    nodes = {
        "n": {
            "inputs": {
                "parameters": [
                    {"name": "one", "value": "run/make/out2"},
                    {"name": "list", "value": '["run/each/f/1", "run/each/f/12"]'},
                    {"name": "deep", "value": '{"a": ["[\\"run/deep/f\\"]"]}'},
                    {"name": "spaces", "value": '["run/a b/[f]"]'},
                    {"name": "text", "value": "[see 'run/told/f', please"},
                ],
                "artifacts": [{"name": "d", "s3": {"key": "run/folder/d/x/"}}],
            }
        }
    }
    view = CacheView((), frozenset(locations_in(nodes)))

    def is_read(*locations: str) -> bool:
        return view.is_read(CacheEntry("m", "k", "", "x", NOON, NOON, None, locations))

    assert is_read("run/make/out2")
    assert not is_read("run/make/out")
    assert is_read("run/each/f/1")
    assert is_read("run/each/f/12")
    assert not is_read("run/each/f/2")
    assert is_read("run/deep/f")
    assert is_read("run/a b/[f]")
    assert is_read("run/told/f")
    assert is_read("none/f", "run/folder/d")  # a file in a folder that is kept
    assert is_read("run/folder/d/")
    assert not is_read()


# room in a config map ----------------------------------------------------------------------------


def test_what_is_in_use_or_of_others_keeps_its_room_and_is_told(place: Place) -> None:
    place.entry("mine", 10, repository=place.mark())
    place.entry("theirs", 10, repository=OTHER)
    lose(place, "theirs")
    place.value("now", hours_ago=0, letters=PLACE_BYTES)
    report = place.sync(10**9)
    assert keys_of(report) == ["mine"]
    assert place.keys() == {"theirs", "now"}
    assert report.full == (MAP,)


def fill(place: Place, letters: int) -> None:
    """Fill the config map with an entry of another repository."""
    old = NOON - timedelta(hours=9)
    found = json.loads(text_of("theirs", "run-theirs/make/f", old, old, OTHER))
    place.put(MAP, {"theirs": json.dumps({**found, "outputs": filled(found["outputs"], letters)})})


def filled(outputs: dict[str, t.Any], letters: int) -> dict[str, t.Any]:
    return {**outputs, "result": "v" * letters}


def test_entries_of_others_that_fill_a_config_map_cost_no_entries_for_nothing(
    place: Place,
) -> None:
    fill(place, 900_000)
    for number in range(4):
        place.entry(f"mine-{number}", 10, hours_ago=9 - number)
    report = place.sync(10**9)
    assert (report.removed, report.full) == ((), (MAP,))
    assert len(place.files()) == 4


def test_what_goes_for_the_budget_leaves_room_as_well(place: Place) -> None:
    place.entry("file", 10, hours_ago=1)
    place.value("a", hours_ago=9, letters=PLACE_BYTES - 350)
    assert keys_of(place.sync(0, dry_run=True)) == ["file"]
    assert keys_of(place.sync(10**9, dry_run=True)) == ["a"]


def test_what_is_nested_too_deeply_to_be_read_has_words_all_the_same() -> None:
    assert "run/a/f" in locations_in("[" * 100_000 + ' "run/a/f"')
    assert "run/a/f" in locations_in("[" * 100_000 + '"run/a/f"' + "]" * 100_000)
