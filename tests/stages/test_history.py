"""What earlier runs tell of the steps of a workflow: seconds, and bytes where they are known."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import timedelta
from hashlib import sha256
from pathlib import Path

import pytest

from couler.ir.pods import PodSettings
from couler.ir.policies import Gpu, Placement, Profile, Resources
from couler.ir.serialize import write_json
from couler.ir.source_map import SourceMap
from couler.ir.workflow import Container, Group, Job, Step, Workflow
from couler.optimizers.base import Measured, Timed
from couler.stages.history import earlier_runs
from couler.state import Database, Home, Journal, begin_session, open_database
from couler.store import ObjectStore
from tests.state.samples import NOON
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
    assert earlier_runs(database, home).profiles("train", "local") == {
        "a": Measured(seconds=5, output_bytes=4, runs=3),
        "each/b": Measured(seconds=2, output_bytes=4, runs=6),
    }
    assert earlier_runs(database, home).profiles("nothing", "local") == {}


def test_only_the_latest_count_however_many_took_the_cache_since(
    database: Database, home: Home
) -> None:
    runs = RecordedRuns(database)
    runs.add("local", {"a": 900.0})
    for _ in range(10):
        runs.add("local", {"a": 5.0})
    for _ in range(20):
        runs.add("local", {"a": 0.0}, status="cached")
    assert earlier_runs(database, home).profiles("train", "local")["a"].seconds == 5


def test_seconds_are_those_of_the_engine_if_it_ran_there(database: Database, home: Home) -> None:
    runs = RecordedRuns(database)
    runs.add("argo", {"a": 30.0})
    runs.add("local", {"a": 10.0, "b": 7.0})
    found = earlier_runs(database, home).profiles("train", "argo")
    assert (found["a"].seconds, found["b"].seconds) == (30, 7)
    assert earlier_runs(database, home).profiles("train", None)["a"].seconds == 20


def test_bytes_of_files_are_those_of_the_store(database: Database, home: Home) -> None:
    store = ObjectStore(home.store_url)
    (home.root / "model").write_bytes(b"x" * 5000)
    kept = store.put(home.root / "model")
    gone = kept.replace(kept.partition("/")[0], kept.partition("/")[0][:-8] + "0" * 8)
    runs = RecordedRuns(database)
    runs.add("local", {"a": 1.0, "b": 1.0}, {"a": value(kept, "file"), "b": value(gone, "file")})
    runs.add("argo", {"a": 1.0, "c": 1.0}, {"a": value("k", "file"), "c": value("k", "file")})
    found = earlier_runs(database, home).profiles("train", "argo")
    assert [found[path].output_bytes for path in "abc"] == [5000, None, None]


def test_what_passes_moved_is_known_by_both_places(database: Database, home: Home) -> None:
    moved = SourceMap({"train-7": ("train[7]",)})
    RecordedRuns(database).add("local", {"train[6]": 2.0, "train[7]": 4.0}, source_map=moved)
    found = earlier_runs(database, home).profiles("train", "local")
    assert (found["train"].seconds, found["train-7"].seconds) == (3, 4)


# what steps compute -------------------------------------------------------------------------------

CHOSEN = Placement(node_selector={"team": "low"})


def computing(name: str, operations: float | None = 1e9, model: str | None = "forest") -> Step:
    profile = Profile(operations=operations, model=model)
    return Step(name=name, action=Container(image="busybox"), profile=profile)


def ir_of(*steps: Step, pod: PodSettings | None = None) -> str:
    return write_json(Workflow(name="train", steps=steps, pod=pod))


def test_what_ran_with_what_it_computes_whatever_the_workflow(
    database: Database, home: Home
) -> None:
    runs = RecordedRuns(database)
    fit, each = computing("fit", 5e9), computing("in").model_copy(update={"placement": CHOSEN})
    whole = Step(name="each", action=Group(steps=(each,)))
    others = computing("a", None), computing("b", 1e9, None), Step(name="c", action=fit.action)
    runs.add("local", {"fit": 2.0, "a": 1.0, "b": 1.0, "c": 1.0}, ir=ir_of(fit, *others), node="n1")
    runs.add("argo", {"each[0]/in": 3.0, "each[1]/in": 4.0}, ir=ir_of(whole), workflow="other")
    assert earlier_runs(database, home).timings() == [
        Timed("forest", 1e9, 4.0, None, CHOSEN),
        Timed("forest", 1e9, 3.0, None, CHOSEN),
        Timed("forest", 5e9, 2.0, "n1", None),
    ]


def test_the_workflow_that_counts_is_that_of_the_session(database: Database, home: Home) -> None:
    runs = RecordedRuns(database)
    run = runs.add("local", {"fit": 2.0}, ir=ir_of(computing("fit", 1e9)), node="n1")
    changed = ir_of(computing("fit", 7e9))
    digest = sha256(changed.encode()).hexdigest()
    session = begin_session(
        *(database, run),
        pid=1,
        host="h",
        started=NOON,
        workflow_digest=digest,
        ir_json=changed,
    )
    with Journal(database, run, session) as journal:
        journal.attempt_started("fit", 2, started=NOON + timedelta(days=9), node="n1")
        end = NOON + timedelta(days=9, seconds=14)
        journal.attempt_ended("fit", 2, status="succeeded", finished=end)
        journal.flush()
    found = earlier_runs(database, home).timings()
    assert [(one.operations, one.seconds) for one in found] == [(7e9, 14.0), (1e9, 2.0)]


def test_pods_are_placed_by_what_the_workflow_says_of_all_and_ask_for_gpus(
    database: Database, home: Home
) -> None:
    every = PodSettings(node_selector={"team": "low"})
    with_gpu = computing("a").model_copy(update={"resources": Resources(gpu=Gpu(count=1))})
    job = Step(
        name="job",
        action=Job(manifest={"kind": "Job"}),
        profile=Profile(operations=1e9, model="forest"),
    )
    RecordedRuns(database).add(
        "argo", {"a": 2.0, "job": 1.0}, ir=ir_of(with_gpu, job, pod=every), node="n1"
    )
    [found] = earlier_runs(database, home).timings()
    assert found == Timed("forest", 1e9, 2.0, "n1", CHOSEN, has_gpus=True)


def test_a_workflow_that_cannot_be_read_tells_nothing(database: Database, home: Home) -> None:
    RecordedRuns(database).add("local", {"fit": 2.0}, ir='{"operations": "of old"}', node="n1")
    assert earlier_runs(database, home).timings() == []
