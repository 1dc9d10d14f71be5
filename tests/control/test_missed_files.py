"""Files from the cache that are gone: what of a run's record and of an emulated cluster tells."""

from __future__ import annotations

import json
import typing as t
from dataclasses import replace
from datetime import UTC, datetime

import pytest

from couler.backends.argo import ArgoBackend
from couler.backends.argo.memo_entries import MemoEntries
from couler.control.watching import MissedFiles, find_missed
from couler.state.records import RunRecord, StepRecord
from tests.fakes.kubernetes.store import CONFIG_MAPS, WORKFLOWS
from tests.support.argo_cluster import NAMESPACE, EmulatedCluster

NOON = datetime(2026, 1, 2, 12, tzinfo=UTC)
PLACE = "old-1/make/f"
GONE = "init: Error (exit code 64): artifact data failed to load: The specified key does not exist."


def outputs(location: str) -> dict[str, t.Any]:
    return {
        "parameters": [{"name": "f", "value": location}],
        "artifacts": [{"name": "f", "s3": {"key": location}}],
    }


def read_of(location: str, message: str = GONE) -> dict[str, t.Any]:
    artifact = {"name": "data", "s3": {"key": location}}
    return {"phase": "Error", "message": message, "inputs": {"artifacts": [artifact]}}


def hit_of(location: str, *, hit: bool = True) -> dict[str, t.Any]:
    return {"phase": "Succeeded", "memoizationStatus": {"hit": hit}, "outputs": outputs(location)}


def workflow(cluster: EmulatedCluster, *nodes: dict[str, t.Any]) -> None:
    """Make a Workflow that has failed."""
    status = {"nodes": {f"n{number}": node for number, node in enumerate(nodes)}}
    metadata = {"name": "run-1"}
    cluster.store.create(WORKFLOWS, NAMESPACE, {"metadata": metadata, "spec": {}, "status": status})


def entries(cluster: EmulatedCluster, **locations: str) -> None:
    """Make a config map of entries, and of one that nobody can read."""
    data = {key: json.dumps({"outputs": outputs(place)}) for key, place in locations.items()}
    labels = {"workflows.argoproj.io/configmap-type": "Cache"}
    metadata = {"name": "couler-w-0", "labels": labels}
    found = {"metadata": metadata, "data": {**data, "odd": "no JSON"}}
    cluster.store.create(CONFIG_MAPS, NAMESPACE, found)


@pytest.mark.parametrize(
    ("nodes", "missed"),
    [
        ([hit_of(PLACE), read_of(PLACE)], {PLACE}),
        ([hit_of(PLACE, hit=False), read_of(PLACE)], {PLACE}),
        ([{"phase": "Succeeded", "outputs": outputs(PLACE)}, read_of(PLACE)], set()),
        ([hit_of(PLACE), read_of("run-1/other/f")], set()),
        ([hit_of(PLACE), read_of(PLACE, "main: Error (exit code 1)")], set()),
        ([hit_of(PLACE), read_of(PLACE, GONE.replace("data", "text"))], set()),
        ([], set()),
    ],
)
def test_a_file_is_missed_if_it_is_of_a_cached_step_and_was_not_loaded(
    cluster: EmulatedCluster, nodes: list[dict[str, t.Any]], missed: set[str]
) -> None:
    workflow(cluster, *nodes)
    assert MemoEntries(cluster.api()).missed({"name": "run-1"}) == missed


def test_the_entries_of_a_file_are_forgotten(cluster: EmulatedCluster) -> None:
    entries(cluster, a=PLACE, b=PLACE, c="old-2/make/f")
    MemoEntries(cluster.api()).forget({PLACE})
    [found] = cluster.objects("ConfigMap")
    assert set(found["data"]) == {"c", "odd"}


def record(path: str, status: t.Any, **fields: t.Any) -> StepRecord:
    return StepRecord(path, path, status, NOON, 1, 1, **fields)


MAKE = record("make", "cached", outputs={"f": {"text": PLACE, "type": "file"}})
OTHER = record("other", "cached", outputs={"f": {"text": "old-1/other/f", "type": "file"}})
READ = record("read", "failed", attempts=1, message=GONE)


@pytest.fixture
def find(
    cluster: EmulatedCluster, monkeypatch: pytest.MonkeyPatch
) -> t.Callable[..., MissedFiles | None]:
    """Look for what a run of the emulated cluster has missed."""
    monkeypatch.setattr(ArgoBackend, "entries", lambda *_: MemoEntries(cluster.api()))
    monkeypatch.setattr("couler.control.watching.recorded_connection", lambda _: None)
    run = t.cast("RunRecord", _Run())

    def look(*steps: StepRecord) -> MissedFiles | None:
        return find_missed(run, steps, {})

    return look


class _Run:
    engine = "argo"
    place: t.ClassVar = {"name": "run-1"}


def test_who_made_a_missed_file_is_found(
    cluster: EmulatedCluster, find: t.Callable[..., MissedFiles | None]
) -> None:
    workflow(cluster, hit_of(PLACE), hit_of("old-1/other/f"), read_of(PLACE))
    found = find(MAKE, OTHER, READ)
    assert found is not None
    assert (found.producers, found.readers, found.locations) == (("make",), {"read"}, {PLACE})
    made = find(replace(MAKE, status="succeeded"), READ)
    assert made is not None
    assert made.producers == ("make",)
    assert find(replace(MAKE, status="failed"), READ) is None
    assert find(MAKE, replace(READ, message="main: Error (exit code 1)")) is None


def test_where_the_cluster_cannot_tell_nothing_is_known(
    find: t.Callable[..., MissedFiles | None],
) -> None:
    assert find(MAKE, READ) is None  # there is no such Workflow
