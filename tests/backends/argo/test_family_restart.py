"""Restarts of runs whose parts have runs of their own, on an emulated cluster over HTTP."""

from __future__ import annotations

import typing as t
from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest

from couler.backends.argo import ArgoBackend
from couler.backends.argo.remote import ArgoRemote
from couler.backends.argo.reset import has_ended, pod_name
from couler.backends.argo.status_nodes import is_over
from couler.backends.base import Artifact, Target
from couler.backends.remote import Connection, RemoteRun, Restart, Submission
from couler.errors import EngineError, RefusedError
from couler.ir.defaults import resolve_defaults
from couler.ir.policies import Part
from couler.ir.workflow import Step, Workflow
from tests.corpus.build import flow, ref, sh
from tests.fakes.argo.server import ArgoServer
from tests.fakes.kubernetes.faults import RequestFault
from tests.fakes.kubernetes.store import PODS, WORKFLOWS
from tests.support.argo_cluster import NAMESPACE, EmulatedCluster, emulated_cluster

Json = t.Any
COMPLETED = "workflows.argoproj.io/completed"
GC = "workflows.argoproj.io/artifact-gc"
END = "2026-01-01T00:00:10Z"


def in_run(step: Step, run: str | None) -> Step:
    return step.model_copy(update={"part": Part(run=run) if run else None})


def two_parts(a: str | None = "a", good: str = "echo 1") -> Workflow:
    return resolve_defaults(
        flow(
            "w",
            in_run(sh("good", good), a),
            in_run(sh("bad", "exit 3"), a),
            in_run(sh("after", 'echo "$1"', ref("bad")), "b"),
            in_run(sh("beside", 'echo "$1"', ref("good")), "b"),
        )
    )


FLOW = two_parts()


def compiled(workflow: Workflow) -> Artifact:
    return ArgoBackend().compile(workflow, Target())


def node(key: str, name: str, kind: str, phase: str, **fields: object) -> Json:
    ends = {"startedAt": END, "finishedAt": END if phase != "Running" else None}
    return {"id": key, "name": name, "displayName": name, "type": kind, "phase": phase} | {
        **ends,
        **fields,
    }


def status(phase: str, *nodes: Json, **fields: object) -> Json:
    return {"phase": phase, "startedAt": END, "nodes": {one["id"]: one for one in nodes}, **fields}


def kind_of(step: str, end: str) -> str:
    if end in ("Omitted", "Skipped"):
        return "Skipped"
    return "DAG" if step.startswith("g") and step[1:].isdigit() else "Pod"


OF_B = {"after": "Omitted", "beside": "Succeeded"}


def waiting(part: str, phase: str = "Succeeded") -> Iterator[Json]:
    name, template = f"run-1.p-{part}", {"templateName": f"couler-part-{part}"}
    yield node(
        f"w{part}", name, "Retry", phase, boundaryID="run-1", children=[f"w{part}0"], **template
    )
    yield node(f"w{part}0", f"{name}(0)", "Pod", phase, boundaryID="run-1", **template)


def inside(part: str, phase: str, steps: Mapping[str, str], body: str = "Succeeded") -> Json:
    run = f"run-1-{part}"
    told = {"parameters": [{"name": "couler_ended", "value": "x", "globalName": "couler_ended"}]}
    name = f"{run}[0].run[0].part"
    nodes = [
        node(run, run, "Steps", phase, children=["0"]),
        node("0" + part, f"{run}[0]", "StepGroup", body, boundaryID=run),
        node("r" + part, f"{run}[0].run", "Steps", body, boundaryID=run, outputs=told),
        node("00" + part, f"{run}[0].run[0]", "StepGroup", body, boundaryID="r" + part),
        node("p" + part, name, "DAG", body, boundaryID="r" + part)
        | {"templateName": f"couler-part-{part}"},
        *(
            node(
                f"{step}-{part}",
                f"{name}.{step}",
                kind_of(step, end),
                end,
                boundaryID="p" + part,
                templateName=step,
            )
            for step, end in steps.items()
        ),
        node(f"e{part}", f"{name}.ends", "DAG", body, boundaryID="p" + part),
        node("1" + part, f"{run}[1]", "StepGroup", phase, boundaryID=run),
    ]
    given = {"parameters": [{"name": "couler_ended", "value": "x"}]}
    return status(phase, *nodes, outputs=given)


class Place:
    """A cluster with a run of two parts; a step of the first has failed."""

    def __init__(self, cluster: EmulatedCluster, workflow: Workflow = FLOW, *others: Json) -> None:
        self.cluster = cluster
        self.remote = cluster.quick_remote()
        place = self.remote.submit(Submission("run-1", workflow, compiled(workflow), {}))
        self.run = RemoteRun("run-1", workflow, place)
        parts = [*waiting("a"), *waiting("b"), *others]
        root = node("run-1", "run-1", "DAG", "Failed", children=["wa", "wb"])
        self.end("run-1", status("Failed", root, *parts))
        self.child("a", "Failed", {"good": "Succeeded", "bad": "Failed"})
        # What stands for steps of other parts is numbered through.
        first = 2 + len(others) // 2
        gates = {f"g{first}": "Succeeded", f"g{first + 1}": "Skipped"}
        self.child("b", "Succeeded", {**gates, **OF_B})

    def child(self, part: str, phase: str, steps: Mapping[str, str]) -> None:
        run = f"run-1-{part}"
        labels = {"couler/parent": self.run.place["uid"], "couler/part": part}
        metadata = {
            "name": run,
            "labels": labels,
            "annotations": {"couler/template": f"couler-part-{part}"},
            "finalizers": [GC, "others/own"],
        }
        spec = {"workflowTemplateRef": {"name": f"w-{part}"}, "shutdown": "Stop"}
        self.cluster.store.create(WORKFLOWS, NAMESPACE, {"metadata": metadata, "spec": spec})
        [stored] = [
            one["spec"]
            for one in self.cluster.objects("WorkflowTemplate")
            if one["metadata"]["labels"]["couler/part"] == part
        ]
        self.end(run, {**inside(part, phase, steps), "storedWorkflowTemplateSpec": stored})
        of_run = {"workflows.argoproj.io/workflow": run}
        for step in (one for one, end in steps.items() if kind_of(one, end) == "Pod"):
            pod = pod_name(run, {"name": f"{run}[0].run[0].part.{step}", "templateName": step})
            self.pod(pod, of_run)
        wait = {"name": f"run-1.p-{part}(0)", "templateName": f"couler-part-{part}"}
        self.pod(pod_name("run-1", wait), {"workflows.argoproj.io/workflow": "run-1"})

    def pod(self, name: str, labels: Mapping[str, str]) -> None:
        metadata = {"name": name, "labels": dict(labels)}
        self.cluster.store.create(PODS, NAMESPACE, {"metadata": metadata, "spec": {}})

    @property
    def pods(self) -> list[str]:
        found = self.cluster.store.list(PODS, lambda _: True)[1]
        return sorted(one["metadata"]["name"].rpartition("-")[0] for one in found)

    def end(self, name: str, status: Json, completed: str = "true") -> None:
        def change(found: Json) -> None:
            found["status"] = status
            found["metadata"].setdefault("labels", {})[COMPLETED] = completed

        self.cluster.store.change(WORKFLOWS, NAMESPACE, name, change)

    def get(self, name: str) -> Json:
        return self.cluster.store.get(WORKFLOWS, NAMESPACE, name)

    def phases(self, name: str) -> dict[str, str]:
        """How the nodes of a Workflow stand, by their names without what all begin with."""
        nodes = self.get(name)["status"]["nodes"].values()
        return {one["name"].removeprefix(name): one["phase"] for one in nodes}

    def restart(self, *again: str, workflow: Workflow = FLOW) -> None:
        order = Restart(workflow, compiled(workflow), {}, frozenset(again))
        self.remote.restart(self.run, order)


@pytest.fixture
def place(tmp_path: Path) -> Iterator[Place]:
    with emulated_cluster(tmp_path) as cluster:
        yield Place(cluster)


OPEN_A = {
    "": "Running",
    "[0]": "Running",
    "[0].run": "Running",
    "[0].run[0]": "Running",
    "[0].run[0].part": "Running",
    "[0].run[0].part.good": "Succeeded",
}


def test_a_child_keeps_what_succeeded_and_waits_to_be_taken_up(place: Place) -> None:
    place.restart("bad", "after")
    child = place.get("run-1-a")
    assert place.phases("run-1-a") == OPEN_A
    assert child["metadata"]["labels"][COMPLETED] == "true"
    assert child["metadata"]["finalizers"] == ["others/own"]
    assert child["spec"] == {"workflowTemplateRef": {"name": "w-a"}}
    assert not {"phase", "storedWorkflowTemplateSpec"} & child["status"].keys()
    assert child["status"]["outputs"]["parameters"] == []
    assert not is_over(child), "who waits for its end must not find the old one"
    assert place.phases("run-1") == {"": "Running"}
    assert not has_ended(place.get("run-1"))
    assert place.pods == ["run-1-a-good", "run-1-b-beside"]


def test_a_node_stays_where_something_behind_it_is_kept(tmp_path: Path) -> None:
    """Argo looks for the nodes of all that a task waits for, however far before it they are."""
    kept = sh("kept", 'echo "$1"', ref("beside"))
    workflow = resolve_defaults(FLOW.model_copy(update={"steps": (*FLOW.steps, kept)}))
    others = [
        node("g", "run-1.g2", "Skipped", "Skipped", boundaryID="run-1"),
        node("k", "run-1.kept", "Pod", "Succeeded", boundaryID="run-1", templateName="kept"),
    ]
    with emulated_cluster(tmp_path) as cluster:
        place = Place(cluster, workflow, *others)
        place.restart("bad", "after", workflow=workflow)
        found = place.phases("run-1")
        # It is not running: Argo would let it run on if the restart was cancelled.
        assert (found[".p-a"], found[".p-b"], found[".kept"]) == ("Pending", "Pending", "Succeeded")
        assert not {".p-a(0)", ".p-b(0)"} & found.keys()
        assert place.pods == ["run-1-a-good", "run-1-b-beside"]


def test_a_child_before_what_runs_again_is_not_touched(place: Place) -> None:
    before = place.get("run-1-a")
    place.restart("beside")
    assert place.get("run-1-a") == before
    nodes = place.get("run-1")["status"]["nodes"]
    assert nodes["wa"]["phase"] == "Succeeded"
    assert "wb" not in nodes, "nothing of it is kept"


def test_a_child_that_nobody_waited_for_to_its_end_is_waited_for_again(place: Place) -> None:
    root = node("run-1", "run-1", "DAG", "Failed", children=["wa", "wb"])
    place.end("run-1", status("Failed", root, *waiting("a", "Failed"), *waiting("b", "Failed")))
    place.restart("bad", "after")
    assert place.phases("run-1") == {"": "Running"}
    assert place.phases("run-1-a") == OPEN_A


def test_a_child_that_goes_on_is_told_and_nothing_is_changed(place: Place) -> None:
    place.end("run-1-b", inside("b", "Running", {"beside": "Running"}, "Running"), "false")
    before = [place.get(name) for name in ("run-1", "run-1-a", "run-1-b")]
    pods = place.pods
    with pytest.raises(RefusedError, match=r"part b of run-1.*has not ended.*cancel the run"):
        place.restart("bad", "after")
    assert [place.get(name) for name in ("run-1", "run-1-a", "run-1-b")] == before
    assert place.pods == pods


@pytest.mark.parametrize("again", [("bad", "after"), ("beside",)])
def test_a_child_that_has_gone_is_told(place: Place, again: tuple[str, ...]) -> None:
    place.cluster.store.remove(WORKFLOWS, NAMESPACE, "run-1-b")
    with pytest.raises(RefusedError, match="Workflow of the part b of run-1 is there no more"):
        place.restart(*again)
    assert has_ended(place.get("run-1"))


def test_a_child_that_has_gone_and_is_not_needed_is_no_matter(place: Place) -> None:
    place.cluster.store.remove(WORKFLOWS, NAMESPACE, "run-1-a")
    place.restart("beside")
    assert place.phases("run-1") == {"": "Running", ".p-a": "Succeeded", ".p-a(0)": "Succeeded"}


@pytest.mark.parametrize("again", [("bad", "after"), ("good", "bad", "after", "beside")])
def test_what_breaks_off_is_done_again(place: Place, again: tuple[str, ...]) -> None:
    place.cluster.faults.add(RequestFault("PUT", "/workflows/run-1$", code=403))
    with pytest.raises(EngineError):
        place.restart(*again)
    assert has_ended(place.get("run-1"))
    assert not is_over(place.get("run-1-a")), "it is put back already"
    place.cluster.faults.clear()
    place.restart(*again)
    assert not has_ended(place.get("run-1"))
    assert "wa0" not in place.get("run-1")["status"]["nodes"]
    assert place.phases("run-1-a") == ({} if "good" in again else OPEN_A)


def test_a_child_that_waits_to_be_taken_up_is_not_ended(place: Place) -> None:
    place.restart("bad", "after")
    place.remote.cancel(place.run)
    assert "shutdown" not in place.get("run-1-a")["spec"]


def test_a_part_cannot_leave_its_run(place: Place) -> None:
    group = two_parts()
    steps = [
        step.model_copy(update={"part": Part(group="a")}) if step.part == Part(run="a") else step
        for step in group.steps
    ]
    changed = group.model_copy(update={"steps": tuple(steps)})
    with pytest.raises(RefusedError, match="part a had a run of its own and has none"):
        place.restart("bad", "after", workflow=changed)
    assert has_ended(place.get("run-1-a"))


def test_an_argo_server_has_no_way() -> None:
    with ArgoServer() as server:
        fields = {"server": server.address}
        remote = t.cast("ArgoRemote", ArgoBackend().connect(Connection("argo", fields=fields), {}))
        place = remote.submit(Submission("run-1", FLOW, compiled(FLOW), {}))
        order = Restart(FLOW, compiled(FLOW), {}, frozenset({"bad"}))
        with pytest.raises(RefusedError, match="Argo Server cannot restart these together"):
            remote.restart(RemoteRun("run-1", FLOW, place), order)
