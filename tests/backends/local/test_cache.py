"""Keys of cached steps, and what the engine gets out of the cache and puts into it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from couler.backends.local.cache import StepCache
from couler.backends.local.reuse import StepKeys
from couler.ir.policies import Cache
from couler.ir.semantics.values import Gathered, Outputs, RunFacts, Single, View
from couler.ir.values import ParamRef
from couler.ir.workflow import Container, Input, Step
from couler.state import Database, create_run, open_database
from couler.state.cache import list_entries, look_up
from couler.state.entries import Entry
from couler.store import ObjectStore, parse_reference
from tests.state.samples import IR, RUN
from tests.support.cache_entries import add_entry

REFERENCE = "ab" * 32 + "/report.html"
KEY = "c" * 64
KEYS = StepKeys((), in_images=True)


def view(**parameters: Single | Gathered) -> View:
    return View(run=RunFacts("r", "2026-01-01"), parameters=parameters)


def container(**fields: object) -> Step:
    action = Container(image="busybox", command=("cat",), args=(ParamRef(name="a"),))
    return Step.model_validate({"name": "s", "action": action, "cache": Cache(), **fields})


# keys ----------------------------------------------------------------------------------------


def test_a_file_counts_by_its_content() -> None:
    def key(text: str) -> str:
        given = (Input(name="f", type="file", value=ParamRef(name="f")),)
        return KEYS.of(container(inputs=given), view(a=Single("x", "str"), f=Single(text, "file")))

    assert key(REFERENCE) == key("ab" * 32 + "/other.txt")
    others = [REFERENCE, "cd" * 32 + "/report.html", "ab" * 32 + "/model/", "ab" * 32 + "/run*"]
    assert len({key(text) for text in [*others, "any text"]}) == 5


def test_named_caches_are_apart() -> None:
    given = view(a=Single("x", "str"))
    names = (None, "one", "two")
    keys = {KEYS.of(container(cache=Cache(name=name)), given) for name in names}
    assert len(keys) == 3
    assert all(len(key) == 64 for key in keys)
    assert KEYS.of(container(cache=Cache(max_age_s=5)), given) in keys


# outputs -------------------------------------------------------------------------------------


# the cache -----------------------------------------------------------------------------------


@pytest.fixture
def database(tmp_path: Path) -> Iterator[Database]:
    with open_database(f"sqlite:///{tmp_path}/couler.db") as opened:
        for name in ("r1", "r2"):
            create_run(opened, replace(RUN, id=name), IR)
        yield opened


@pytest.fixture
def store(tmp_path: Path) -> ObjectStore:
    return ObjectStore(f"file://{tmp_path}/store")


@pytest.fixture
def cache(database: Database, store: ObjectStore) -> StepCache:
    return StepCache(database, store, run_id="r1", workflow="train")


@pytest.fixture
def outputs(store: ObjectStore, tmp_path: Path) -> Outputs:
    """A file, the files of a foreach with a directory, a value, and a default of a file."""
    (tmp_path / "model.bin").write_bytes(b"weights")
    (tmp_path / "folder").mkdir()
    (tmp_path / "folder" / "inside").write_bytes(b"in a folder")
    return {
        "model": Single(store.put(tmp_path / "model.bin"), "file"),
        "parts": Gathered((Single(store.put(tmp_path / "folder"), "directory"), None)),
        "score": Single("0.5", "float"),
        "maybe": Single("no reference", "file"),
    }


def objects_of(store: ObjectStore, outputs: Outputs) -> dict[str, Path]:
    """The paths of the objects: of the file, of the directory's list, of the file in it."""
    model, parts = outputs["model"], outputs["parts"]
    assert isinstance(model, Single)
    assert isinstance(parts, Gathered)
    assert parts.items[0] is not None
    listing, inside = store.digests(parts.items[0].text)
    named = {"file": parse_reference(model.text).digest, "list": listing, "inside": inside}
    paths = {name: store.local_path(f"{digest}/x") for name, digest in named.items()}
    return {name: path for name, path in paths.items() if path is not None}


def test_what_one_run_made_another_takes(
    cache: StepCache, database: Database, store: ObjectStore, outputs: Outputs
) -> None:
    missed = cache.find(KEY, "fit", outputs)
    assert (missed.outputs, missed.decision.decision) == (None, "miss")
    stored = cache.offer(KEY, "fit[0]", "fit", outputs, cost_s=2.5).decision
    assert (stored.decision, stored.path, stored.key) == ("stored", "fit[0]", KEY)

    other = StepCache(database, store, run_id="r2", workflow="other")
    found = other.find(KEY, "again", outputs)
    assert found.outputs == outputs
    assert found.source_run == "r1"
    assert (found.decision.decision, found.decision.path) == ("hit", "again")
    assert "made by r1 on 20" in found.decision.reason
    entry = look_up(database, KEY)
    assert entry is not None
    assert (entry.workflow, entry.step, entry.path) == ("train", "fit", "fit[0]")
    assert (entry.hits, entry.cost_s) == (1, 2.5)
    assert entry.last_used == found.decision.at > entry.created
    assert (entry.place, entry.admitted, entry.used) == ("fit", 1, 2)
    in_files = len(b"weights") + len(b"in a folder")
    in_texts = sum(len(text) for text in ("0.5", "no reference"))
    assert entry.size_bytes == in_files + in_texts + 64 + len("/model.bin") + 64 + len("/folder/")


def test_a_file_that_cannot_be_read_is_a_miss(
    cache: StepCache, store: ObjectStore, outputs: Outputs
) -> None:
    cache.offer(KEY, "fit", "fit", outputs, cost_s=1)
    path = objects_of(store, outputs)["file"]
    path.unlink()
    path.mkdir()
    found = cache.find(KEY, "fit", outputs)
    assert found.outputs is None
    assert "directory" in found.decision.reason


def offer_at(cache: StepCache, database: Database, outputs: Outputs, hours: int) -> None:
    """Make an entry that was made some hours from now."""
    cache.offer(KEY, "fit", "fit", outputs, cost_s=1)
    entry = look_up(database, KEY)
    assert entry is not None
    then = datetime.now(UTC) + timedelta(hours=hours)
    aged = Entry(**{name: getattr(entry, name) for name in entry.__slots__} | {"created": then})
    add_entry(database, aged, ())


def test_an_entry_of_the_future_is_young_for_no_limit(
    cache: StepCache, database: Database, outputs: Outputs
) -> None:
    offer_at(cache, database, outputs, 9600)
    found = cache.find(KEY, "fit", outputs, max_age_s=1e300)
    assert found.outputs is None
    assert "in the future" in found.decision.reason
    assert cache.find(KEY, "fit", outputs).outputs == outputs


def test_an_entry_that_is_too_old_is_a_miss(
    cache: StepCache, database: Database, outputs: Outputs
) -> None:
    offer_at(cache, database, outputs, -1)
    found = cache.find(KEY, "fit", outputs, max_age_s=3599)
    assert found.outputs is None
    assert "too old" in found.decision.reason
    for max_age_s in (3700, 1e300, None):
        assert cache.find(KEY, "fit", outputs, max_age_s=max_age_s).outputs == outputs


def test_an_output_that_was_not_kept_is_a_miss_and_others_are_left_out(
    cache: StepCache, outputs: Outputs
) -> None:
    """A step's standard output is an output only where something reads it."""
    cache.offer(KEY, "fit", "fit", outputs, cost_s=1)
    found = cache.find(KEY, "fit", [*outputs, "result"])
    assert found.outputs is None
    assert 'no output "result"' in found.decision.reason
    assert cache.find(KEY, "fit", ["score"]).outputs == {"score": outputs["score"]}


def test_an_entry_of_another_version_is_a_miss(cache: StepCache, database: Database) -> None:
    now = datetime.now(UTC)
    strange = {"o": {"text": "x", "type": "new"}}
    entry = Entry(KEY, "w", "s", 1, 1.0, "r", "s", outputs=strange, created=now, last_used=now)
    add_entry(database, entry, ())
    assert "another version" in cache.find(KEY, "s", ["o"]).decision.reason


def test_outputs_that_are_gone_already_are_not_kept(
    cache: StepCache, database: Database, store: ObjectStore, outputs: Outputs
) -> None:
    objects_of(store, outputs)["file"].unlink()
    told = cache.offer(KEY, "fit", "fit", outputs, cost_s=1).decision
    assert told.decision == "rejected"
    assert "missing" in told.reason
    assert list_entries(database) == []
