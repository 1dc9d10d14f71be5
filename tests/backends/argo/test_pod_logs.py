"""Logs of steps from their pods, on an emulated API server: followed, cut, gone."""

from __future__ import annotations

import types
import typing as t
from collections.abc import Iterator
from pathlib import Path

import pytest

from couler.backends.argo.pod_logs import pod_lines, pod_name
from couler.backends.argo.remote import ArgoRemote
from couler.backends.argo.status_nodes import Node
from couler.backends.remote import RemoteRun
from couler.errors import EngineError
from couler.ir.walk import StepPath
from couler.ir.workflow import Http, Step
from couler.rest.client import RestError
from tests.corpus.build import flow, sh
from tests.fakes.kubernetes.faults import RequestFault
from tests.fakes.kubernetes.logs import Log
from tests.fakes.kubernetes.store import PODS
from tests.support.argo_cluster import CountedWaits, EmulatedCluster, submitted

WORKFLOW = flow("logs", sh("say", "true"), Step(name="ask", action=Http(url="http://x")))
SAY = StepPath.parse("say")
POD = "run-1-say-2187887481"


class Written:
    """A container's log that grows as tests say."""

    def __init__(self, folder: Path) -> None:
        self._file = folder / "log"
        self._file.touch()
        self.log = Log(self._file)

    def write(self, *lines: str, last: bool = False) -> None:
        with self._file.open("a") as file:
            file.writelines(f"{line}\n" for line in lines)
        self.log.read(to_the_end=last)


@pytest.fixture
def run(cluster: EmulatedCluster) -> RemoteRun:
    """A run whose step runs, and that has no pod yet."""
    run = submitted(cluster.quick_remote(), WORKFLOW)
    _set_phase(cluster, "Running")
    return run


def _set_phase(cluster: EmulatedCluster, phase: str, **fields: t.Any) -> None:
    names = {"say": "Pod", "ask": "HTTP"}
    nodes = {
        f"run-1-{name}": {
            "id": f"run-1-{name}",
            "name": f"run-1.{name}",
            "templateName": name,
            "type": kind,
            "phase": phase,
            "boundaryID": "run-1",
            **fields,
        }
        for name, kind in names.items()
    }
    root = {"id": "run-1", "name": "run-1", "type": "DAG", "phase": "Running"}
    cluster.set_status("run-1", {"phase": "Running", "nodes": {**nodes, "run-1": root}})


@pytest.fixture
def written(cluster: EmulatedCluster, run: RemoteRun, tmp_path: Path) -> Written:
    """What the pod of the step writes."""
    found = Written(tmp_path)
    machine = types.SimpleNamespace(container=lambda _pod, name: found if name == "main" else None)
    cluster.server.run_on(t.cast("t.Any", machine))
    cluster.store.create(PODS, "default", {"metadata": {"name": POD}, "spec": {}})
    return found


def _logs(cluster: EmulatedCluster, run: RemoteRun, **options: t.Any) -> Iterator[str]:
    return cluster.quick_remote().logs(run, SAY, **options)


def test_lines_of_argos_executor_are_left_out(
    cluster: EmulatedCluster, run: RemoteRun, written: Written
) -> None:
    head = "time=2026-01-31T08:00:00.000Z level=INFO msg="
    written.write(
        f'{head}"capturing logs" argo=true',
        "one",
        "Error: exit status 3",  # the program's own
        f'{head}"sub-process exited" argo=true error="exit status 3"',
        f'{head}"waiting" signalPath=/var/run/argo/ctr/main/signal argo=true',
        "Error: exit status 3",
        last=True,
    )
    assert list(_logs(cluster, run)) == ["one", "Error: exit status 3"]


@pytest.mark.parametrize("after", [0, 1, 2])
def test_a_stream_that_is_cut_goes_on_where_it_broke(
    cluster: EmulatedCluster, run: RemoteRun, written: Written, after: int
) -> None:
    cluster.faults.add(RequestFault("GET", "/log$", cut="within", after=after, times=2))
    written.write("one", "two", "three", last=True)
    waits = CountedWaits()
    lines = pod_lines(
        cluster.api(),
        "run-1",
        POD,
        "main",
        follow=True,
        is_over=lambda: False,
        begin=waits.begin,
    )
    assert list(lines) == ["one", "two", "three"]
    assert waits.count == 2


def test_who_does_not_follow_does_not_wait(
    cluster: EmulatedCluster, run: RemoteRun, written: Written
) -> None:
    message = 'container "main" in pod "x" is waiting to start: PodInitializing'
    cluster.faults.add(RequestFault("GET", "/log$", code=400, message=message))
    assert list(_logs(cluster, run)) == []


@pytest.mark.parametrize("follow", [True, False])
@pytest.mark.parametrize(
    ("artifacts", "told"),
    [
        ([], r"the pod of say is gone.*it was not archived \(archiveLogs"),
        (
            [{"name": "main-logs", "s3": {"key": "run-1/say/main.log"}}],
            'the pod of say is gone.*it is archived as "run-1/say/main.log"',
        ),
    ],
)
def test_a_pod_that_is_gone_is_told_of(
    cluster: EmulatedCluster, run: RemoteRun, artifacts: t.Any, told: str, follow: bool
) -> None:
    _set_phase(cluster, "Succeeded", outputs={"artifacts": artifacts})
    with pytest.raises(EngineError, match=told):
        list(_logs(cluster, run, follow=follow))


def test_a_refusal_is_told_of(cluster: EmulatedCluster, run: RemoteRun, written: Written) -> None:
    cluster.faults.add(RequestFault("GET", "/log$", code=403, message="cannot get pods/log"))
    with pytest.raises(RestError, match="refused with 403: cannot get pods/log"):
        list(_logs(cluster, run, follow=True))


@pytest.mark.parametrize(
    ("path", "attempt", "told"),
    [
        ("ask", None, "ask runs in no pod of its own"),
        ("say", 2, "say has 1 attempts, not 2"),
        ("nothing", None, "nothing has not begun"),
    ],
)
def test_what_has_no_log_says_why(
    cluster: EmulatedCluster, run: RemoteRun, path: str, attempt: int | None, told: str
) -> None:
    remote: ArgoRemote = cluster.quick_remote()
    with pytest.raises(EngineError, match=told):
        list(remote.logs(run, StepPath.parse(path), attempt=attempt))


def test_names_of_pods() -> None:
    node = {"id": "run-7", "name": "run.fit", "type": "Pod", "templateName": "fit"}
    named = {"metadata": {"name": "run"}}
    old = {"metadata": {"annotations": {"workflows.argoproj.io/pod-name-format": "v1"}}}
    assert pod_name({"metadata": {**named["metadata"], **old["metadata"]}}, Node(node)) == "run-7"
    assert pod_name(named, Node({**node, "name": "run"})) == "run"
    shared = {**node, "templateRef": {"name": "t", "template": "shared"}}
    assert pod_name(named, Node(shared)).startswith("run-shared-")
    long = pod_name({"metadata": {"name": "r" * 200}}, Node({**node, "templateName": "t" * 100}))
    assert len(long) <= 253
