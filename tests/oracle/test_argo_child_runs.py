"""Parts with runs of their own, under Argo's own controller and executor."""

from __future__ import annotations

import time
import typing as t
import uuid
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from couler.backends.argo.cluster_api import ClusterApi
from couler.backends.argo.family import Family, stop_children
from couler.backends.argo.status_nodes import NodeTree, is_over
from couler.rest.client import RestClient
from tests.fakes.kubernetes.store import WORKFLOWS
from tests.support import argo_oracle
from tests.support.argo_children import divided, manifest, spec_of

pytestmark = [
    pytest.mark.slow,
    pytest.mark.timeout(1800),  # the first use builds Argo's programs
    pytest.mark.skipif(argo_oracle.available() is not None, reason=str(argo_oracle.available())),
    pytest.mark.sampled(3),
]

TWO = """
  entrypoint: main
  arguments: {parameters: [{name: who, value: x}, {name: then, value: "true"}]}
  templates:
  - name: main
    dag:
      failFast: false
      tasks:
      - name: first
        template: say
        arguments: {parameters: [{name: text, value: "{{=workflow.parameters.who}}"}]}
      - name: p-a
        template: couler-part-a
        depends: first
        arguments: {parameters: [{name: v1, value: "{{=tasks.first.outputs.parameters.text}}"}]}
      - name: p-b
        template: couler-part-b
        depends: p-a
        arguments:
          parameters:
          - {name: v1, value: "{{=tasks['p-a'].outputs.parameters.c1}}"}
          - {name: s1, value: "{{=tasks['p-a'].outputs.parameters.s}}"}
      - name: last
        template: say
        depends: p-b
        arguments: {parameters: [{name: text, value: "{{=tasks['p-b'].outputs.parameters.c1}}"}]}
  - name: couler-part-a
    inputs: {parameters: [{name: v1}]}
    outputs:
      parameters:
      - {name: c1, valueFrom: {expression: "tasks.one.outputs?.parameters?.text ?? ''"}}
      - {name: s, valueFrom: {expression: "tasks.one.status"}}
    dag:
      failFast: false
      tasks:
      - name: one
        template: say
        arguments:
          parameters:
          - {name: text, value: "{{=inputs.parameters.v1 + '/' + workflow.name}}"}
          - {name: then, value: "{{workflow.parameters.then}}"}
      - {name: anyway, template: nothing, depends: "one.Failed || one.Succeeded"}
  - name: couler-part-b
    inputs: {parameters: [{name: v1}, {name: s1}]}
    outputs:
      parameters:
      - {name: c1, valueFrom: {expression: "tasks.two.outputs.parameters.text"}}
    dag:
      failFast: false
      tasks:
      - name: two
        template: say
        arguments:
          parameters:
          - {name: text, value: "{{=inputs.parameters.s1 + ':' + inputs.parameters.v1}}"}
  - {name: nothing, suspend: {duration: "0"}}
"""

HOSTILE = (
    'a "b" \'c\'\nx $(Y) $$ $(ARGO_CONTAINER_NAME) \ufeff\u2028 é 😀 \\ \\" \t\x01\x1b[31m: - # '
    "{ }} {% <&> [x] & * ! | > %\n---\nkind: Pod\n  end \x7f\x80\x85\x9f 007 {\\x7b"
)


@pytest.fixture
def api(argo: argo_oracle.Session) -> Iterator[ClusterApi]:
    with RestClient("argo", argo.address, extra="argo") as client:
        yield ClusterApi(client, "default")


def children(argo: argo_oracle.Session, run: argo_oracle.OracleRun) -> list[t.Any]:
    uid = run.workflow["metadata"]["uid"]  # type: ignore[index]  # JSON
    return [
        one
        for one in argo.objects(WORKFLOWS)
        if one["metadata"].get("labels", {}).get("couler/parent") == uid
    ]


def test_values_go_from_run_to_run(argo: argo_oracle.Session, tmp_path: Path) -> None:
    text = manifest(divided(spec_of(TWO), "a", "b"))
    file = tmp_path / "all.yaml"
    file.write_text(text)
    assert [one.errors for one in argo_oracle.lint([file])] == [()]
    run = argo.run(text, parameters={"who": HOSTILE})
    assert run.phase == "Succeeded", (run.message, run.phases())
    inside = f"{HOSTILE}/{run.name}"
    assert run.node("last").outputs["text"] == f"Succeeded:{inside}"
    found = children(argo, run)
    uid = str(run.workflow["metadata"]["uid"])[:8]  # type: ignore[index]  # JSON
    assert {one["metadata"]["name"] for one in found} == {
        f"{run.name}-a-{uid}",
        f"{run.name}-b-{uid}",
    }
    assert {one["status"]["phase"] for one in found} == {"Succeeded"}
    assert [one["metadata"]["ownerReferences"][0]["name"] for one in found] == [run.name] * 2


def test_a_value_goes_past_the_kubelet_too(argo: argo_oracle.Session) -> None:
    """Argo hands a manifest of this size on by a config map, where nobody reads dollars."""
    text = "a$" * 30_000
    run = argo.run(manifest(divided(spec_of(TWO), "a", "b")), parameters={"who": text})
    assert run.phase == "Succeeded", (run.message, run.phases())
    assert run.node("last").outputs["text"] == f"Succeeded:{text}/{run.name}"


def test_a_step_that_fails_in_a_run_fails_what_reads_it_alone(argo: argo_oracle.Session) -> None:
    run = argo.run(manifest(divided(spec_of(TWO), "a", "b")), parameters={"then": "exit 3"})
    assert run.node("last").outputs["text"] == f"Failed:x/{run.name}"
    assert run.phase == "Succeeded", "what fails the run is told by who divides it"


def test_the_nodes_of_children_stand_where_they_were_taken_from(
    argo: argo_oracle.Session, api: ClusterApi
) -> None:
    run = argo.run(manifest(divided(spec_of(TWO), "a", "b")))
    whole = NodeTree.of(Family(api).get(run.name))
    plain = argo.run(manifest(divided(spec_of(TWO))))
    expected = NodeTree.of(api.get(plain.name))

    def shape(tree: NodeTree, place: str) -> dict[str, object]:
        boundary = tree.root if not place else tree.inside(tree.root)[place]  # type: ignore[arg-type]  # it has begun
        assert boundary is not None
        return {name: (node.type, node.phase) for name, node in tree.inside(boundary).items()}

    for place in ("", "p-a", "p-b"):
        assert shape(whole, place) == shape(expected, place)
    one = whole.inside(whole.inside(whole.root)["p-a"])["one"]  # type: ignore[arg-type]  # it has begun
    assert one.name == f"{run.name}.p-a.one"
    assert one.parameters == {"text": f"x/{run.name}"}


def _begun(
    argo: argo_oracle.Session, api: ClusterApi, shared: Path, **spec: object
) -> tuple[str, Callable[[], list[t.Any]]]:
    """A run whose first part is in the middle of its step, and what finds its children."""
    name = f"by-hand-{uuid.uuid4().hex[:6]}"
    mark = shared / name
    found = divided({**spec_of(TWO), **spec}, "a", "b")
    arguments = found.spec["arguments"]["parameters"]
    arguments[1]["value"] = f"touch {mark}; sleep 3600"
    for one in found.definitions:
        api.apply(one)
    created = api.create(
        {
            "apiVersion": "argoproj.io/v1alpha1",
            "kind": "Workflow",
            "metadata": {"name": name},
            "spec": found.spec,
        }
    )
    until = time.monotonic() + argo_oracle.LIMIT_S
    while not mark.exists():
        assert time.monotonic() < until
        time.sleep(0.05)
    return name, lambda: list(api.children(created["metadata"]["uid"]))


def _wait(holds: Callable[[], bool]) -> None:
    until = time.monotonic() + argo_oracle.LIMIT_S
    while not holds():
        assert time.monotonic() < until
        time.sleep(0.1)


def test_a_run_that_is_cancelled_ends_its_children(
    argo: argo_oracle.Session, api: ClusterApi, shared: Path
) -> None:
    name, found = _begun(argo, api, shared)
    api.stop(name)
    stop_children(api, api.get(name))
    assert argo.wait(name).phase == "Failed"
    _wait(lambda: all(map(is_over, found())))
    assert [one["metadata"]["labels"]["couler/part"] for one in found()] == ["a"]


def test_a_run_whose_time_is_over_ends_its_children_by_itself(
    argo: argo_oracle.Session, api: ClusterApi, shared: Path
) -> None:
    name, found = _begun(argo, api, shared)
    api._patch("Workflow", name, {"spec": {"activeDeadlineSeconds": 0}})
    done = argo.wait(name)
    assert done.node("couler-stop-a").phase == "Succeeded", done.phases()
    assert done.node("couler-stop-b").phase in ("Skipped", "Omitted")
    _wait(lambda: all(map(is_over, found())))
    assert found()[0]["spec"]["shutdown"] == "Stop"


def test_a_child_that_is_ended_from_outside_fails_its_part(
    argo: argo_oracle.Session, api: ClusterApi, shared: Path
) -> None:
    name, found = _begun(argo, api, shared)
    api.stop(found()[0]["metadata"]["name"])
    done = argo.wait(name)
    assert done.phase == "Failed"
    assert done.node("p-a").phase == "Failed"
    assert done.node("p-b").phase == "Omitted"


def test_the_pod_that_waits_may_be_lost(
    argo: argo_oracle.Session, api: ClusterApi, shared: Path
) -> None:
    name, found = _begun(argo, api, shared)
    [child] = found()
    [pod] = [one for one in argo.pod_names if one.startswith(f"{name}-couler-part-a")]
    api._client.call("DELETE", f"/api/v1/namespaces/default/pods/{pod}")
    _wait(
        lambda: any(one != pod for one in argo.pod_names if "couler-part-a" in one and name in one)
    )
    assert [one["metadata"]["uid"] for one in found()] == [child["metadata"]["uid"]]
    api._patch("Workflow", name, {"spec": {"activeDeadlineSeconds": 0}})
    argo.wait(name)
    _wait(lambda: all(map(is_over, found())))


def test_a_run_that_is_deleted_takes_its_children_with_it(
    argo: argo_oracle.Session, api: ClusterApi, shared: Path
) -> None:
    name, found = _begun(argo, api, shared)
    api.delete(name)
    _wait(lambda: found() == [])
