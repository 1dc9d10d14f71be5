"""`couler cache sync`, against an emulated cluster."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path

import pytest

from couler.cli import _cache_sync
from couler.control.cache_sync import SyncReport
from couler.errors import FilesLeftError
from couler.ir.cachekey import repository_mark
from couler.store.run_files import RunFiles
from tests.cli.conftest import GREET
from tests.fakes.kubernetes.store import CONFIG_MAPS, WORKFLOWS, Json
from tests.support.argo_cluster import NAMESPACE, EmulatedCluster, emulated_cluster

LONG_AGO = "2024-01-01T00:00:00Z"

KEPT = """
import couler

with couler.Workflow("kept"):
    out = couler.File("/tmp/f")
    couler.run_container("busybox:1", ["true"], output=out, step_name="make", cache=couler.Cache())
"""


@pytest.fixture
def cluster(folder: Path) -> Iterator[EmulatedCluster]:
    """A cluster with an entry of 2 KiB; the settings have it as the target `prod`."""
    with emulated_cluster(folder) as cluster:
        (folder / "files/run-1/make").mkdir(parents=True)
        (folder / "files/run-1/make/f").write_bytes(b"x" * 2048)
        location = "run-1/make/f"
        outputs = {
            "parameters": [{"name": "f", "value": location}],
            "artifacts": [{"name": "f", "s3": {"key": location}}],
        }
        times = {"creationTimestamp": LONG_AGO, "lastHitTimestamp": LONG_AGO}
        entry = {"nodeID": "run-1-77", "outputs": outputs, **times}
        labels = {"workflows.argoproj.io/configmap-type": "Cache"}
        metadata = {"name": "couler-w-a", "labels": labels}
        data = {"a" * 64: json.dumps(entry)}
        cluster.store.create(CONFIG_MAPS, NAMESPACE, {"metadata": metadata, "data": data})
        (folder / "pyproject.toml").write_text(
            f'[tool.couler.targets.prod]\nengine = "argo"\nkubeconfig = "{cluster.kubeconfig}"\n'
            'repository = "files"\n[tool.couler.targets.bare]\nengine = "argo"\n'
            '[tool.couler.targets.flow]\nengine = "airflow"\naddress = "http://localhost:1"\n'
            '[tool.couler.targets.server]\nengine = "argo"\nserver = "http://localhost:1"\n'
        )
        yield cluster


SYNC = ("cache", "sync", "prod", "--repository", "files")


def test_what_would_go_is_told_and_then_goes(
    couler: Callable, folder: Path, cluster: EmulatedCluster
) -> None:
    told = couler(*SYNC, "--budget", "1Ki", "--dry-run")
    assert told.code == 0
    assert told.out.splitlines()[1].startswith("aaaaaaaaaaaa  couler-w-a  2.0 KiB  is worth least")
    assert "would remove 1 entry (2.0 KiB) of 1 (2.0 KiB)" in told.err
    assert (folder / "files/run-1/make/f").exists()

    told = couler(*SYNC, "--budget", "1Ki", "--format", "json")
    assert told.code == 0
    [removed] = told.json["removed"]
    assert removed["locations"] == ["run-1/make/f"]
    assert (removed["made_by"], removed["size_bytes"], removed["seconds"]) == (
        "run-1-77",
        2048,
        None,
    )
    assert (told.json["freed_bytes"], told.json["over_bytes"]) == (2048, 0)
    assert not (folder / "files/run-1/make/f").exists()
    assert cluster.objects("ConfigMap")[0]["data"] == {}

    told = couler(*SYNC, "--budget", "1Ki", "--policy", "lru")
    assert (told.code, told.out) == (0, "")
    assert "removed 0 entries (0 B) of 0 (0 B)" in told.err


def test_files_that_stay_are_told_after_what_went(
    couler: Callable, folder: Path, cluster: EmulatedCluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    def stay(self: RunFiles, places: Iterable[str]) -> int:
        raise FilesLeftError("files: access denied", tuple(places))

    with monkeypatch.context() as patched:
        patched.setattr(RunFiles, "remove", stay)
        told = couler(*SYNC, "--budget", "1Ki", "--format", "json")
    assert told.code == 4
    [left] = told.json["left"]
    assert left.endswith("files/run-1/make/f")
    assert [one["locations"] for one in told.json["removed"]] == [["run-1/make/f"]]
    assert "error: " in told.err
    assert "1 file" in told.err
    again = couler(*SYNC, "--budget", "1Ki", "--format", "json")  # what was left is tried again
    assert (again.code, again.json["left"]) == (0, [])
    assert not (folder / "files/run-1/make/f").exists()


@pytest.mark.parametrize(("count", "entries"), [(1, "1 entry"), (1200, "1,200 entries")])
def test_what_stays_is_counted(
    couler: Callable,
    cluster: EmulatedCluster,
    monkeypatch: pytest.MonkeyPatch,
    count: int,
    entries: str,
) -> None:
    def sync(*_: object, **__: object) -> SyncReport:
        return SyncReport(2400, 0, (), count, count, 2048, count, ("couler-w-0",))

    monkeypatch.setattr(_cache_sync, "sync_entries", sync)
    assert couler(*SYNC, "--budget", "1Ki").err == (
        f"removed 0 entries (0 B) of 2,400 (0 B); {entries} in use or used a moment ago; "
        f"{entries} used or removed meanwhile; {entries} of other repositories left alone; "
        "too full with what is in use or of others: couler-w-0; 2.0 KiB over the budget\n"
    )


@pytest.mark.parametrize(
    ("words", "code", "message"),
    [
        (SYNC, 2, "no budget is stated. Give --budget SIZE"),
        (("cache", "sync", "bare"), 2, "it is not stated where the files are. Give --repository"),
        ((*SYNC[:4], "others", "--budget", "1"), 3, "none of the 1 entry has its files"),
        ((*SYNC, "--budget", "1", "--policy", "nxt-use"), 2, "next-use"),
        (
            ("cache", "sync", "flow", "--budget", "1"),
            5,
            "airflow: no policy and no budget decides there",
        ),
        (("cache", "sync", "flow"), 5, "airflow: no policy and no budget decides there"),
        (("cache", "sync"), 2, "Error: no target is chosen. Give TARGET (prod, bare, flow, ser"),
        (("cache", "sync", "server", *SYNC[3:], "--budget", "1"), 3, "Argo Server"),
        (("cache", "sync", "none", "--budget", "1"), 3, 'error: TARGET: there is no target "none"'),
    ],
)
def test_what_is_missing_or_wrong_is_told(
    couler: Callable, cluster: EmulatedCluster, words: tuple[str, ...], code: int, message: str
) -> None:
    told = couler(*words)
    assert told.code == code, told.err
    assert message in told.err


def test_the_argument_is_named_where_the_choice_is_not_clear(
    couler: Callable, folder: Path, cluster: EmulatedCluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COULER_ENGINE", "argo")
    told = couler("cache", "sync", "--budget", "1")
    assert told.code == 2
    assert "several targets are of argo: prod, bare, server. Give TARGET, or set target" in told.err
    monkeypatch.setenv("COULER_ENGINE", "local")
    told = couler("cache", "sync", "--budget", "1")
    assert (told.code, "local: `couler cache sync` is for engines elsewhere" in told.err) == (
        5,
        True,
    )
    monkeypatch.setenv("COULER_TARGET", "prd")
    told = couler("cache", "sync", "--budget", "1")
    assert (told.code, 'COULER_TARGET: there is no target "prd"' in told.err) == (3, True)


def test_without_any_target_one_is_to_be_stated(couler: Callable, folder: Path) -> None:
    told = couler("cache", "sync")
    assert told.code == 2
    assert "Error: no target is chosen. State one in [tool.couler.targets.NAME]" in told.err
    assert "-e" not in told.err.split("Error: ")[1]


def test_entries_of_runs_for_a_target_tell_that_they_are_of_its_repository(
    couler: Callable, folder: Path, cluster: EmulatedCluster
) -> None:
    (folder / "kept.py").write_text(KEPT)
    told = couler("compile", "kept.py", "--target", "prod")
    assert told.code == 0, told.err
    mark = repository_mark(RunFiles(str(folder / "files")).url)
    assert f"{{name: couler_repository, value: {mark}}}" in told.out.replace('"', "")
    assert "couler_repository" not in couler("compile", "kept.py", "--target", "bare").out
    told = couler("compile", "kept.py", "--target", "prod", "--option", "repository=s3://others")
    assert str(repository_mark("s3://others")) in told.out


@pytest.fixture
def controller(cluster: EmulatedCluster) -> Iterator[None]:
    """Ends every Workflow well as soon as it is there."""
    over = threading.Event()

    def end() -> None:
        while not over.wait(0.05):
            for found in cluster.objects("Workflow"):
                if not found.get("status"):
                    name = found["metadata"]["name"]
                    cluster.store.change(WORKFLOWS, NAMESPACE, name, _ended)

    thread = threading.Thread(target=end)
    thread.start()
    yield
    over.set()
    thread.join()


def _ended(found: Json) -> None:
    found["metadata"].setdefault("labels", {})["workflows.argoproj.io/completed"] = "true"
    name = found["metadata"]["name"]
    node = {"id": name, "name": name, "displayName": name, "type": "DAG", "phase": "Succeeded"}
    found["status"] = {"phase": "Succeeded", "nodes": {name: node}, "finishedAt": LONG_AGO}


def test_the_outputs_of_a_run_stay_as_long_as_the_run(
    couler: Callable, folder: Path, cluster: EmulatedCluster
) -> None:
    outputs = {"parameters": [{"name": "model", "value": "run-1/make/f"}]}
    root = {"id": "run-1", "name": "run-1", "type": "DAG", "phase": "Succeeded", "outputs": outputs}
    status = {"phase": "Succeeded", "nodes": {"run-1": root}}
    labels = {"workflows.argoproj.io/completed": "true"}
    run = {"metadata": {"name": "run-1", "labels": labels}, "spec": {}, "status": status}
    cluster.store.create(WORKFLOWS, NAMESPACE, run)
    told = couler(*SYNC, "--budget", "0", "--format", "json")
    assert (told.json["removed"], told.json["in_use"]) == ([], 1)
    assert (folder / "files/run-1/make/f").exists()

    cluster.store.delete(WORKFLOWS, NAMESPACE, "run-1")
    told = couler(*SYNC, "--budget", "0", "--format", "json")
    assert [one["locations"] for one in told.json["removed"]] == [["run-1/make/f"]]


def _set_budget(folder: Path, size: str) -> None:
    path = folder / "pyproject.toml"
    head = "[tool.couler.targets.prod]\n"
    budget = f'cache_budget = "{size}"\n'
    text = path.read_text().replace(budget, "")
    path.write_text(text.replace(head, head + budget))


def test_the_target_says_what_its_files_may_take(
    couler: Callable, folder: Path, cluster: EmulatedCluster
) -> None:
    _set_budget(folder, "1KiB")
    told = couler("cache", "sync", "prod", "--dry-run", "--format", "json")
    assert [one["size_bytes"] for one in told.json["removed"]] == [2048]
    (folder / "pyproject.toml").write_text(
        (folder / "pyproject.toml").read_text().replace("1KiB", "much")
    )
    told = couler("cache", "sync", "prod")
    assert (told.code, "cache_budget: " in told.err) == (3, True)


@pytest.mark.usefixtures("controller")
def test_who_watches_a_run_keeps_the_budget_at_its_end(
    couler: Callable, folder: Path, cluster: EmulatedCluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    (folder / "greet.yaml").write_text(GREET)
    submit = ("submit", "greet.yaml", "--target", "prod", "--watch")
    monkeypatch.setenv("COULER_CACHE_BUDGET", "1KiB")  # of this machine, not of the cluster
    told = couler(*submit)
    assert told.code == 0, told.err
    assert cluster.objects("ConfigMap")[0]["data"] != {}

    _set_budget(folder, "1KiB")
    told = couler(*submit)
    assert told.code == 0, told.err
    assert "of what cached steps left: removed 1 entry (2.0 KiB) of 1 (2.0 KiB)" in told.err
    assert cluster.objects("ConfigMap")[0]["data"] == {}

    cluster.store.change(CONFIG_MAPS, NAMESPACE, "couler-w-a", _spoil)
    told = couler(*submit)
    assert told.code == 0
    assert "could not be kept within the budget: argo: the entry odd" in told.err


@pytest.fixture
def slow_controller(cluster: EmulatedCluster) -> Iterator[None]:
    """Ends the step `hello` of each Workflow, and the Workflow only when no entry is left."""
    over = threading.Event()

    def go_on() -> None:
        while not over.wait(0.05):
            for found in cluster.objects("Workflow"):
                is_kept = cluster.objects("ConfigMap")[0]["data"]
                change = _begun if is_kept else _ended
                cluster.store.change(WORKFLOWS, NAMESPACE, found["metadata"]["name"], change)

    thread = threading.Thread(target=go_on)
    thread.start()
    yield
    over.set()
    thread.join()


def _begun(found: Json) -> None:
    name = found["metadata"]["name"]
    root = {"id": name, "name": name, "displayName": name, "type": "DAG", "phase": "Running"}
    hello = {
        "id": f"{name}-1",
        "name": f"{name}.hello",
        "displayName": "hello",
        "type": "Pod",
        "boundaryID": name,
        "templateName": "hello",
        "phase": "Succeeded",
        "startedAt": LONG_AGO,
        "finishedAt": LONG_AGO,
    }
    found["status"] = {"phase": "Running", "nodes": {name: root, hello["id"]: hello}}


@pytest.mark.usefixtures("slow_controller")
def test_who_watches_a_run_keeps_the_budget_while_it_goes_on(
    couler: Callable, folder: Path, cluster: EmulatedCluster
) -> None:
    (folder / "greet.yaml").write_text(GREET)
    _set_budget(folder, "1KiB")
    told = couler("submit", "greet.yaml", "--target", "prod", "--watch")
    assert told.code == 0, told.err
    assert "of what cached steps left: removed 1 entry (2.0 KiB) of 1 (2.0 KiB)" in told.err
    assert "of what cached steps left: removed 0 entries (0 B) of 0 (0 B)" in told.err
    assert not (folder / "files/run-1/make/f").exists()


def _spoil(found: Json) -> None:
    found["data"] = {"odd": "no JSON"}
