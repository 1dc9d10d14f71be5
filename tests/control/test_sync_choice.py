"""What a sync leaves to other repositories, goes on after, and removes for want of room."""

from __future__ import annotations

import json
import re
import typing as t
from collections.abc import Collection, Iterator, Mapping
from datetime import timedelta
from pathlib import Path

import pytest

from couler.backends.argo.memo_entries import MemoEntries, locations_in
from couler.backends.shared_entries import CacheEntry, CacheView, repository_mark
from couler.caching.policies.gdsf import GreedyDualSizeFrequency
from couler.caching.policies.lru import LeastRecentlyUsed
from couler.caching.policies.next_use import NextUseDensity
from couler.control.cache_sync import SyncReport, sync_entries
from couler.control.sync_choice import UNTOLD_GRACE
from couler.errors import ConfigurationError, EngineError, FilesLeftError
from couler.store.run_files import RunFiles
from tests.fakes.kubernetes.store import CONFIG_MAPS, WORKFLOWS
from tests.support.argo_cluster import NAMESPACE, emulated_cluster
from tests.support.shared_cache import MAP, NOON, Place, keys_of, text_of, value_of

OTHER = repository_mark("s3://of-others")
PLACE_BYTES = 512 * 1024


@pytest.fixture
def place(tmp_path: Path) -> Iterator[Place]:
    folder = tmp_path / "repository"
    folder.mkdir()
    with emulated_cluster(tmp_path) as cluster:
        yield Place(cluster, folder)


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


def test_a_repository_of_two_addresses_is_known_by_its_files(place: Place) -> None:
    place.entry("there", 10, repository=OTHER)
    place.entry("lost", 10, repository=OTHER)
    lose(place, "lost")
    assert keys_of(place.sync(10**9)) == ["lost"]
    assert keys_of(place.sync(0)) == ["there"]


def test_what_does_not_tell_its_repository_goes_when_nobody_has_used_it_for_long(
    place: Place,
) -> None:
    days = UNTOLD_GRACE / timedelta(hours=1)
    place.entry("there", 10)
    place.entry("old", 10, hours_ago=days + 1)
    place.entry("hit", 10, hours_ago=days + 1, used=days - 1)
    lose(place, "old")
    lose(place, "hit")
    report = place.sync(10**9)
    assert [(one.entry.key, one.reason) for one in report.removed] == [
        ("old", "its files are gone")
    ]
    assert (report.elsewhere, place.keys()) == (1, {"there", "hit"})


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


def test_what_has_lost_some_of_its_files_is_of_this_repository(place: Place) -> None:
    file = add_half_lost(place)
    assert keys_of(place.sync(10**9)) == ["b"]
    assert not file.exists()


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


def test_what_is_left_of_its_files_stays_if_it_was_used_a_moment_ago(place: Place) -> None:
    file = add_half_lost(place, hours_ago=0.1)
    assert keys_of(place.sync(10**9)) == ["b"]
    assert (place.keys(), file.exists()) == ({"a", "left-b"}, True)
    assert place.sync(10**9).removed == ()
    assert keys_of(place.sync(10**9, grace=timedelta(minutes=1))) == ["left-b"]
    assert not file.exists()


def test_a_file_that_stays_is_not_removed_with_another_entry(place: Place) -> None:
    """What was used a moment ago says nothing of others that have its file."""
    file = add_half_lost(place, hours_ago=0.1)
    old = NOON - timedelta(hours=9)
    place.put(MAP, {"c": text_of("c", "run-b/make/g", old, old)})
    assert keys_of(place.sync(0)) == ["b", "c", "a"]
    assert (place.keys(), file.exists()) == ({"left-b"}, True)


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


def test_a_file_that_cannot_be_removed_keeps_no_other_from_going(place: Place) -> None:
    for number, key in enumerate("abcdef"):
        place.entry(key, 10, hours_ago=20 - number, place=f"couler-w-{number // 3}")
    error, report = failed(place, Locked(place.folder, "a", "e"))
    assert place.files() == {"a", "e"}
    assert keys_of(report) == list("abcdef")
    assert (report.freed_bytes, report.over_bytes) == (40, 20)
    assert report.left == error.places
    assert [Path(one).parts[-3] for one in error.places] == ["run-a", "run-e"]
    text = str(error)
    assert "Permission denied" in text
    assert "Of 6 entries that went, 2 files (" in text
    assert text.endswith("could not be removed. The next sync tries them again")


def test_what_is_left_goes_with_a_later_sync_and_is_never_taken(place: Place) -> None:
    place.entry("a", 10)
    place.entry("b", 10, used=0)
    failed(place, Locked(place.folder, "a"))
    assert place.keys() == {"left-a", "b"}
    failed(place, Locked(place.folder, "a"))
    assert place.keys() == {"left-a", "b"}
    report = place.sync(10**9)
    why = "its files could not be removed before"
    assert [(one.entry.key, one.reason) for one in report.removed] == [("left-a", why)]
    assert place.keys() == place.files() == {"b"}


class NotPutAside(MemoEntries):
    def put_aside(self, entries: Collection[CacheEntry]) -> None:
        raise EngineError("the cluster is away")


def test_what_no_later_sync_finds_is_told(place: Place) -> None:
    place.entry("a", 10)
    error, _ = failed(place, Locked(place.folder, "a"), shared=NotPutAside(place.cluster.api()))
    told = "No entry refers to them any more; remove them yourself when no run does"
    assert str(error).endswith(told)


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


def test_many_files_that_are_left_are_told_by_the_first(place: Place) -> None:
    keys = [f"k{number:02}" for number in range(14)]
    for key in keys:
        place.entry(key, 1)
    error, report = failed(place, Locked(place.folder, *keys))
    assert (len(report.left), str(error).count("run-k")) == (14, 11)  # one more in the cause
    assert " and 4 more) could not be removed" in str(error)


# what it takes -----------------------------------------------------------------------------------


class OnlyLookedUp(frozenset[str]):
    """A set that counts look-ups, and cannot be gone through."""

    asked = 0

    def __contains__(self, one: object) -> bool:
        self.asked += 1
        return super().__contains__(one)

    def __iter__(self) -> Iterator[str]:
        raise AssertionError("it is gone through")


class Many:
    """Entries in memory, which count how often what was asked."""

    url = "memory://files"

    def __init__(self, entries: int, per_place: int) -> None:
        old = NOON - timedelta(days=1)
        self.entries = tuple(
            CacheEntry(f"m{n // per_place}", f"{n}", "", "x", old, old, 1.0, (f"r{n}/f", f"r{n}/g"))
            for n in range(entries)
        )
        self.needed = OnlyLookedUp({"r0/f2", "else/r1/f"})
        self.calls: list[str] = []
        self.sized = 0

    def view(self) -> CacheView:
        self.calls.append("view")
        return CacheView(self.entries, self.needed)

    def remove(self, entries: Collection[t.Any]) -> t.Any:
        entries = list(entries)
        self.calls.append("entries" if isinstance(entries[0], CacheEntry) else "files")
        return tuple(entries)

    def sizes(self, locations: Collection[str]) -> Mapping[str, Mapping[str, int]]:
        self.calls.append("sizes")
        self.sized += len(locations)
        return {one: {one: 1, "shared": 1} for one in locations}

    def __getattr__(self, name: str) -> t.Any:
        raise AssertionError(name)


def test_a_sync_asks_once_for_each_file_and_each_place() -> None:
    """As many config maps as entries for each: what is looked at again for each map would show."""
    many = Many(900, per_place=30)
    report = sync_entries(many, many, LeastRecentlyUsed(), budget_bytes=0, now=NOON)
    assert len(report.removed) == 900
    assert many.sized == 1_800
    assert many.needed.asked == 1_800
    assert {call: many.calls.count(call) for call in set(many.calls)} == {
        "view": 1,
        "sizes": 1,
        "entries": 30,
        "files": 30,
    }


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


def test_long_texts_are_no_locations() -> None:
    many = json.dumps([f"run/each/f/{number}" for number in range(3_000)])
    assert len(locations_in([many, f"see {many}"])) < 3_000 + 20
    assert len(locations_in("a/" * 5_000)) == 0


# room in a config map ----------------------------------------------------------------------------


def size_of(place: Place, name: str = MAP) -> int:
    [found] = [one for one in place.cluster.objects("ConfigMap") if one["metadata"]["name"] == name]
    return sum(len(key) + len(text) for key, text in found["data"].items())


@pytest.mark.parametrize(
    "policy", [LeastRecentlyUsed(), NextUseDensity(), GreedyDualSizeFrequency()]
)
def test_values_go_where_a_config_map_is_too_full(place: Place, policy: t.Any) -> None:
    hours = range(2_600)
    place.put(MAP, {f"k{n:04}": value_of(5_000 - n, 300) for n in hours})
    place.entry("file", 10, hours_ago=1)
    place.value("other", hours_ago=9_000, place="couler-w-1")
    before = size_of(place)
    assert before > 1_000_000
    report = place.sync(10**9, policy)
    assert size_of(place) < PLACE_BYTES
    assert size_of(place) > 0.7 * PLACE_BYTES  # quotes count twice
    gone = [int(one.entry.key[1:]) for one in report.removed]
    assert gone == list(range(len(gone)))  # the oldest of what is worth as much
    assert "its config map holds " in report.removed[0].reason
    assert "bytes of at most 524,288, and it is worth least there" in report.removed[0].reason
    assert {"file", "other", "k2599"} <= place.keys()
    assert (report.entries, report.freed_bytes, report.full) == (2_602, 0, ())
    assert place.sync(10**9, policy).removed == ()


def test_files_go_with_entries_that_have_no_room(place: Place) -> None:
    place.entry("old", 10, hours_ago=50)
    place.entry("new", 10, hours_ago=1)
    place.value("v", hours_ago=20, letters=PLACE_BYTES - 750)
    report = place.sync(10**9)
    assert keys_of(report) == ["old"]
    assert place.files() == {"new"}
    assert place.keys() == {"new", "v"}


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


def test_what_is_ours_has_what_others_leave_and_half_of_the_room_at_least(place: Place) -> None:
    fill(place, 100_000)
    place.entry("mine", 10, hours_ago=1)
    place.put(MAP, {f"k{n}": value_of(9 - n, 100_000) for n in range(6)})
    report = place.sync(10**9)
    assert keys_of(report) == ["k0", "k1"]  # four of about 100 kB beside the other
    assert report.full == ()
    fill(place, 400_000)
    report = place.sync(10**9)
    assert keys_of(report) == ["k2", "k3"]
    told = r"its config map holds 40\d,\d{3} bytes of at most 262,144 beside 40"
    assert re.match(told, report.removed[0].reason)
    assert report.full == (MAP,)


def test_what_goes_for_the_budget_leaves_room_as_well(place: Place) -> None:
    place.entry("file", 10, hours_ago=1)
    place.value("a", hours_ago=9, letters=PLACE_BYTES - 350)
    assert keys_of(place.sync(0, dry_run=True)) == ["file"]
    assert keys_of(place.sync(10**9, dry_run=True)) == ["a"]


def test_what_is_nested_too_deeply_to_be_read_has_words_all_the_same() -> None:
    assert "run/a/f" in locations_in("[" * 100_000 + ' "run/a/f"')
    assert "run/a/f" in locations_in("[" * 100_000 + '"run/a/f"' + "]" * 100_000)
