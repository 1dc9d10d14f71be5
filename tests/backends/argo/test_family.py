"""Workflows whose parts are Workflows of their own, seen as one, on an emulated cluster."""

from __future__ import annotations

import typing as t
from collections.abc import Iterator

import pytest

from couler.backends.argo import ArgoBackend
from couler.backends.argo.footprint import check_runs
from couler.backends.argo.parts import has_runs
from couler.backends.argo.pod_logs import pod_name
from couler.backends.argo.remote import ArgoRemote
from couler.backends.argo.status_nodes import Node
from couler.backends.base import Artifact, ArtifactFile, Target
from couler.backends.remote import Connection, RemoteRun, Submission
from couler.ir.artifacts import FileSettings, RunFileRemoval
from couler.ir.defaults import resolve_defaults
from couler.ir.policies import Part
from couler.ir.walk import StepPath
from couler.ir.workflow import ExitHandler, Output, Schedule, Step, Workflow
from tests.corpus.build import flow, ref, sh
from tests.fakes.argo.server import ArgoServer
from tests.fakes.kubernetes.faults import RequestFault
from tests.fakes.kubernetes.store import WORKFLOW_TEMPLATES, WORKFLOWS
from tests.support.argo_children import divided, manifest, spec_of
from tests.support.argo_cluster import NAMESPACE, EmulatedCluster

Json = t.Any

PARTED = """
  entrypoint: main
  templates:
  - name: main
    dag: {tasks: [{name: p-a, template: couler-part-a}]}
  - name: couler-part-a
    dag: {tasks: [{name: one, template: say, arguments: {parameters: [{name: text, value: x}]}}]}
"""


def in_run(step: Step, run: str | None = "a") -> Step:
    return step.model_copy(update={"part": Part(run=run)})


FLOW = flow("by-hand", in_run(sh("one", "true")))


@pytest.fixture
def remote(cluster: EmulatedCluster) -> ArgoRemote:
    return cluster.quick_remote()


def submitted(remote: ArgoRemote, run_id: str = "run-1") -> RemoteRun:
    file = ArtifactFile("w.yaml", manifest(divided(spec_of(PARTED), "a")))
    artifact = Artifact("argo", (file,))
    return RemoteRun(run_id, FLOW, remote.submit(Submission(run_id, FLOW, artifact, {})))


def node(key: str, name: str, kind: str, phase: str, **fields: object) -> Json:
    return {"id": key, "name": name, "type": kind, "phase": phase, **fields}


def parent_status(phase: str) -> Json:
    nodes = [
        node("run-1", "run-1", "DAG", phase),
        node("w", "run-1.p-a", "Retry", phase, boundaryID="run-1", children=["w0", "w1"])
        | {"templateName": "couler-part-a"},
        *(
            node(f"w{n}", f"run-1.p-a({n})", "Pod", phase, templateName="couler-part-a")
            for n in range(2)
        ),
    ]
    return {"phase": phase, "nodes": {one["id"]: one for one in nodes}}


def child_status(phase: str, inside: str | None = None) -> Json:
    top = {"templateName": "couler-part-a", "boundaryID": "b"}
    nodes = [
        node("c", "child", "Steps", phase),
        node("b", "child[0].run", "Steps", phase, boundaryID="c"),
        node("p", "child[0].run[0].part", "DAG", phase, **top),
        node("o", "child[0].run[0].part.one", "Pod", inside or phase, boundaryID="p")
        | {"templateName": "one"},
    ]
    return {"phase": phase, "nodes": {one["id"]: one for one in nodes}}


def with_child(cluster: EmulatedCluster, run: RemoteRun, phase: str = "Running") -> None:
    """Play the controller: the run has begun, and its child stands as said."""
    labels = {"couler/parent": run.place["uid"], "couler/part": "a"}
    metadata = {
        "name": "child",
        "labels": labels,
        "annotations": {"couler/template": "couler-part-a"},
        "ownerReferences": [{"uid": run.place["uid"]}],
    }
    cluster.store.create(WORKFLOWS, NAMESPACE, {"metadata": metadata, "spec": {}})
    cluster.set_status("child", child_status(phase))
    cluster.set_status("run-1", parent_status("Running"))


def test_why_a_part_has_no_run_is_told(cluster: EmulatedCluster, remote: ArgoRemote) -> None:
    run = submitted(remote)
    status = parent_status("Failed")
    for one in status["nodes"].values():
        one["message"] = "workflows.argoproj.io is forbidden"
    cluster.set_status("run-1", {**status, "message": "child 'run-1-1' failed"})
    assert remote.observe(run).message == (
        "the run of its part a did not begin: workflows.argoproj.io is forbidden"
    )


def test_a_child_that_begins_nothing_tells_why(
    cluster: EmulatedCluster, remote: ArgoRemote
) -> None:
    run = submitted(remote)
    with_child(cluster, run)
    cluster.set_status("child", {"phase": "Error", "nodes": {}, "message": "no such template"})
    cluster.set_status("run-1", parent_status("Failed"))
    told = remote.observe(run).message
    assert told == "the run of its part a did not begin: no such template"


def test_logs_come_from_the_pods_of_the_child(cluster: EmulatedCluster, remote: ArgoRemote) -> None:
    run = submitted(remote)
    with_child(cluster, run, "Succeeded")
    asked: list[str] = []
    logs = remote.api.logs

    def noted(name: str, pod: str, container: str, *, follow: bool) -> Iterator[str]:
        asked.append(f"{name} {pod}")
        return logs(name, pod, container, follow=follow)

    remote.api.logs = noted  # type: ignore[method-assign]  # to see what is asked for
    seen = remote._ask(run)
    look = seen.look
    # The observer of parts finds the step; here its node alone matters.
    step = look.tree.find("o")
    assert step is not None
    look.nodes["one"], look.actions["one"] = step, FLOW.steps[0]
    remote._latest.note(remote._key(run), seen)
    with pytest.raises(Exception, match="log"):
        list(remote.logs(run, StepPath.parse("one")))
    own = Node(child_status("Succeeded")["nodes"]["o"])
    assert asked == [f"child {pod_name({'metadata': {'name': 'child'}}, own)}"]


def test_a_cancel_ends_children_too(cluster: EmulatedCluster, remote: ArgoRemote) -> None:
    run = submitted(remote)
    with_child(cluster, run)
    remote.cancel(run)
    specs = {one["metadata"]["name"]: one["spec"] for one in cluster.objects("Workflow")}
    assert specs["child"]["shutdown"] == "Stop"
    assert specs["run-1"].get("shutdown") or specs["run-1"].get("activeDeadlineSeconds") == 0


def test_a_child_that_has_ended_is_left_alone(cluster: EmulatedCluster, remote: ArgoRemote) -> None:
    run = submitted(remote)
    with_child(cluster, run, "Succeeded")
    remote.cancel(run)
    [child] = [one for one in cluster.objects("Workflow") if one["metadata"]["name"] == "child"]
    assert child["spec"] == {}


def test_definitions_go_with_the_last_run_that_needs_them(
    cluster: EmulatedCluster, remote: ArgoRemote
) -> None:
    first, second = submitted(remote), submitted(remote, "run-2")
    [definition] = cluster.objects("WorkflowTemplate")
    owners = [one["name"] for one in definition["metadata"]["ownerReferences"]]
    assert owners == ["run-1", "run-2"]
    remote.delete(first)
    assert cluster.objects("WorkflowTemplate")
    remote.delete(second)
    assert cluster.objects("WorkflowTemplate") == []


def test_definitions_stay_where_they_cannot_be_changed(
    cluster: EmulatedCluster, remote: ArgoRemote
) -> None:
    cluster.faults.add(RequestFault("PUT", "/workflowtemplates/", code=403))
    submitted(remote)
    [definition] = cluster.objects("WorkflowTemplate")
    assert "ownerReferences" not in definition["metadata"]


def codes(workflow: Workflow) -> list[tuple[str, str | None]]:
    return [(one.code, one.step) for one in check_runs(workflow)]


def test_what_argo_knows_within_one_run_only_is_refused() -> None:
    one = in_run(sh("one", "true", outputs=(Output(name="text", path="/tmp/text"),)))
    tell = ExitHandler(
        name="tell", on="failure", steps=(sh("say", 'echo "$1"', ref("one", "text")),)
    )
    assert codes(flow("w", one, exit_handlers=(tell,))) == [("CLR324", "one")]
    daemon = in_run(sh("serve", "true", daemon=True))
    reader = sh("ask", "true", depends_on=("serve",))
    assert codes(flow("w", daemon, in_run(reader, "b"))) == [("CLR324", "serve")]
    assert codes(flow("w", daemon, in_run(reader))) == []
    removed = FileSettings(removal=RunFileRemoval(on="completion"))
    assert codes(flow("w", one, files=removed)) == [("CLR324", None)]
    assert codes(flow("w", one)) == []
    assert has_runs(flow("w", one))
    assert not has_runs(flow("w", in_run(sh("one", "true"), None)))


HALVES = resolve_defaults(
    flow("halves", in_run(sh("one", "echo 1")), in_run(sh("two", 'echo "$1"', ref("one")), "b"))
)


def compiled(workflow: Workflow, **options: object) -> Artifact:
    return ArgoBackend().compile(workflow, Target(options=options), format="json")


def test_a_schedule_owns_the_definitions_of_its_runs(
    cluster: EmulatedCluster, remote: ArgoRemote
) -> None:
    daily = HALVES.model_copy(update={"schedule": Schedule(cron=("0 3 * * *",))})
    remote.schedule(daily, compiled(daily))
    found = cluster.objects("WorkflowTemplate")
    assert len(found) == 2
    for one in found:
        [owner] = one["metadata"]["ownerReferences"]
        assert (owner["kind"], owner["name"]) == ("CronWorkflow", "halves")


def test_an_argo_server_keeps_children_and_owners_too() -> None:
    with ArgoServer() as server:
        fields = {"server": server.address}
        remote = ArgoBackend().connect(Connection("argo", fields=fields), {})
        runs = [
            remote.submit(Submission(name, HALVES, compiled(HALVES), {}))
            for name in ("run-1", "run-2")
        ]
        metadata = {"name": "child", "labels": {"couler/parent": runs[0]["uid"]}}
        remote.api.create({"kind": "Workflow", "metadata": metadata, "spec": {"entrypoint": "x"}})
        children = remote.api.children(str(runs[0]["uid"]))
        assert [one["metadata"]["name"] for one in children] == ["child"]
        assert remote.api.children(str(runs[1]["uid"])) == []
        definitions = server.service.store.list(WORKFLOW_TEMPLATES, lambda _: True)[1]
        assert [
            [owner["name"] for owner in one["metadata"]["ownerReferences"]] for one in definitions
        ] == [["run-1", "run-2"]] * 2
        remote.cancel(RemoteRun("run-1", HALVES, runs[0]))
        assert remote.api.get("child")["spec"]["shutdown"] == "Stop"


def test_what_the_cluster_must_allow_is_told() -> None:
    few = HALVES.model_copy(update={"max_parallel": 2})
    [allowed, parallel] = compiled(few).notes
    assert "create and patch workflows" in allowed
    assert "max_parallel holds for each of them" in parallel
    assert compiled(flow("w", sh("one", "true"))).notes == ()
