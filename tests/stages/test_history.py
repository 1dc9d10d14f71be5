"""What earlier runs tell of the steps of a workflow: seconds, and bytes where they are known."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from couler.ir.source_map import SourceMap
from couler.optimizers.base import Measured
from couler.stages.history import earlier_runs
from couler.state import Database, Home, open_database
from couler.store import ObjectStore
from tests.support.recorded_runs import RecordedRuns


@pytest.fixture
def database() -> Iterator[Database]:
    with open_database("sqlite://") as opened:
        yield opened


@pytest.fixture
def home(tmp_path: Path) -> Home:
    return Home(tmp_path)


def value(text: str, type_: str = "str") -> dict[str, str]:
    return {"text": text, "type": type_}


def test_medians_of_what_ran(database: Database, home: Home) -> None:
    runs = RecordedRuns(database)
    for seconds in (1.0, 5.0, 60.0):
        runs.add("local", {"a": seconds, "each[0]/b": 1.0, "each[1]/b": 3.0})
    runs.add("local", {"a": 900.0}, status="cached")
    runs.add("local", {"a": 900.0}, workflow="other")
    assert earlier_runs(database, home)("train", "local") == {
        "a": Measured(seconds=5, output_bytes=4, runs=3),
        "each/b": Measured(seconds=2, output_bytes=4, runs=6),
    }
    assert earlier_runs(database, home)("nothing", "local") == {}


def test_only_the_latest_count_however_many_took_the_cache_since(
    database: Database, home: Home
) -> None:
    runs = RecordedRuns(database)
    runs.add("local", {"a": 900.0})
    for _ in range(10):
        runs.add("local", {"a": 5.0})
    for _ in range(20):
        runs.add("local", {"a": 0.0}, status="cached")
    assert earlier_runs(database, home)("train", "local")["a"].seconds == 5


def test_seconds_are_those_of_the_engine_if_it_ran_there(database: Database, home: Home) -> None:
    runs = RecordedRuns(database)
    runs.add("argo", {"a": 30.0})
    runs.add("local", {"a": 10.0, "b": 7.0})
    found = earlier_runs(database, home)("train", "argo")
    assert (found["a"].seconds, found["b"].seconds) == (30, 7)
    assert earlier_runs(database, home)("train", None)["a"].seconds == 20


def test_bytes_of_files_are_those_of_the_store(database: Database, home: Home) -> None:
    store = ObjectStore(home.store_url)
    (home.root / "model").write_bytes(b"x" * 5000)
    kept = store.put(home.root / "model")
    gone = kept.replace(kept.partition("/")[0], kept.partition("/")[0][:-8] + "0" * 8)
    runs = RecordedRuns(database)
    runs.add("local", {"a": 1.0, "b": 1.0}, {"a": value(kept, "file"), "b": value(gone, "file")})
    runs.add("argo", {"a": 1.0, "c": 1.0}, {"a": value("k", "file"), "c": value("k", "file")})
    found = earlier_runs(database, home)("train", "argo")
    assert [found[path].output_bytes for path in "abc"] == [5000, None, None]


def test_what_passes_moved_is_known_by_both_places(database: Database, home: Home) -> None:
    moved = SourceMap({"train-7": ("train[7]",)})
    RecordedRuns(database).add("local", {"train[6]": 2.0, "train[7]": 4.0}, source_map=moved)
    found = earlier_runs(database, home)("train", "local")
    assert (found["train"].seconds, found["train-7"].seconds) == (3, 4)
