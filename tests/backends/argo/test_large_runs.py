"""What a look at a large run costs, counted in calls of functions and in requests."""

from __future__ import annotations

import typing as t
from collections.abc import Iterator

import pytest

from couler.backends.argo.remote import ArgoRemote
from couler.backends.remote import RemoteRun
from couler.errors import EngineError
from couler.ir.walk import StepPath
from couler.ir.workflow import Workflow
from tests.corpus.build import flow, sh

if t.TYPE_CHECKING:
    from couler.backends.argo.workflow_api import WorkflowApi

Json = t.Any
TIME = "2026-03-01T12:00:00Z"


def parallel(count: int) -> Workflow:
    return flow("w", *(sh(f"s{number}", "true") for number in range(count)))


def node(name: str, kind: str = "Pod", *, inside: str = "w", phase: str = "Succeeded") -> Json:
    return {
        "id": name,
        "name": name,
        "type": kind,
        "phase": phase,
        "boundaryID": inside,
        "templateName": name.rpartition(".")[2],
        "startedAt": TIME,
        "finishedAt": TIME,
    }


def status_of(workflow: Workflow, phase: str = "Succeeded") -> Json:
    """Return a run all steps of which have succeeded."""
    nodes = [node("w", "DAG", inside="", phase=phase)]
    for step in workflow.steps:
        nodes.append(node(f"w.{step.name}", "Pod" if step.foreach is None else "TaskGroup"))
        if step.foreach is not None:
            nodes += [node(f"w.{step.name}({one}:{one + 1})") for one in range(2)]
    status = {"phase": phase, "nodes": {one["id"]: one for one in nodes}}
    return {"metadata": {"name": "w"}, "spec": {}, "status": status}


# logs ----------------------------------------------------------------------------------------


class CountedApi:
    """Argo with one run, that counts what it is asked."""

    namespace = "default"

    def __init__(self, workflow: Json) -> None:
        self.workflow = workflow
        self.gets = 0

    def get(self, _name: str) -> Json:
        self.gets += 1
        return self.workflow

    def snapshot(self, _name: str) -> tuple[Json, str]:
        return self.workflow, "1"

    def stop(self, _name: str) -> None:
        self.workflow = {**self.workflow, "spec": {"shutdown": "Stop"}}

    def delete(self, _name: str) -> None:
        return

    def logs(self, _name: str, pod: str, _container: str, *, follow: bool) -> Iterator[str]:
        yield f"{pod.rpartition('-')[0]}{' followed' if follow else ''}"


@pytest.fixture
def run() -> RemoteRun:
    return RemoteRun("w", parallel(30), {"name": "w"})


def remote_of(api: CountedApi) -> ArgoRemote:
    return ArgoRemote(t.cast("WorkflowApi", api))


def test_a_step_that_was_not_seen_is_looked_for_anew(run: RemoteRun) -> None:
    api = CountedApi(status_of(run.workflow, "Running"))
    nodes = api.workflow["status"]["nodes"]
    late = nodes.pop("w.s7")
    remote, path = remote_of(api), StepPath.parse("s7")
    with pytest.raises(EngineError, match="s7 has not begun"):
        list(remote.logs(run, path))
    api.workflow = {**api.workflow, "status": {"phase": "Running", "nodes": {**nodes, "s7": late}}}
    assert list(remote.logs(run, path)) == ["w-s7"]
    assert list(remote.logs(run, StepPath.parse("s8"))) == ["w-s8"]
    assert api.gets == 2
