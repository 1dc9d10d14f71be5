"""What a restart makes of a Workflow that has ended. What Argo makes of that: tests/oracle."""

from __future__ import annotations

import datetime
import typing as t
from collections.abc import Collection, Mapping

import pytest

from couler.backends.argo.reset import Reset, reset
from couler.backends.argo.status_nodes import read_nodes
from couler.errors import RefusedError

Json = t.Any
NOW = datetime.datetime(2026, 1, 31, 8, 0, tzinfo=datetime.UTC)
RUN = "run-1"


def dag(name: str, *tasks: Json, **more: Json) -> Json:
    return {"name": name, "dag": {"failFast": False, "tasks": list(tasks)}, **more}


def task(name: str, template: str = "say", depends: str | None = None, **more: Json) -> Json:
    return {"name": name, "template": template, **({"depends": depends} if depends else {}), **more}


def spec(*templates: Json, **more: Json) -> Json:
    say = {"name": "say", "container": {"image": "any"}}
    return {"entrypoint": "main", "templates": [*templates, say], **more}


class Run:
    """An ended run, made node by node; the path of a node of a process is its name's end."""

    def __init__(self, tree: Json) -> None:
        self.nodes: dict[str, Json] = {}
        self.spec = tree
        self.paths: dict[str, str] = {}

    def add(
        self,
        name: str,
        phase: str = "Succeeded",
        *,
        type: str = "Pod",
        inside: str | None = RUN,
        below: Collection[str] = (),
        path: str | None = "",
        template: str = "say",
        **more: Json,
    ) -> str:
        full = f"{RUN}.{name}" if name else RUN
        self.nodes[full] = {
            "id": full,
            "name": full,
            "displayName": name.rpartition(".")[2] or RUN,
            "type": type,
            "phase": phase,
            "templateName": template,
            "startedAt": "2026-01-30T00:00:00Z",
            "finishedAt": "2026-01-30T00:00:01Z",
            **({"boundaryID": inside} if name and inside else {}),
            **more,
        }
        for parent in below or ([inside] if name and inside else []):
            self.nodes[parent].setdefault("children", []).append(full)
        if type in ("Pod", "Retry") and path is not None:
            self.paths[full] = path or name
        return full

    @property
    def workflow(self) -> Json:
        return {
            "metadata": {
                "name": RUN,
                "resourceVersion": "7",
                "managedFields": [{}],
                "labels": {
                    "workflows.argoproj.io/completed": "true",
                    "workflows.argoproj.io/phase": "Failed",
                    "couler/run": RUN,
                },
            },
            "spec": {**self.spec, "shutdown": "Stop"},
            "status": {
                "phase": "Failed",
                "message": "child failed",
                "startedAt": "2026-01-30T00:00:00Z",
                "finishedAt": "2026-01-30T00:00:09Z",
                "progress": "1/2",
                "nodes": self.nodes,
                "conditions": [{"type": "Completed", "status": "True"}],
                "taskResultsCompletionStatus": dict.fromkeys(self.nodes, True),
                "outputs": {
                    "parameters": [
                        {"name": "of-bad", "value": "old"},
                        {"name": "of-first", "value": "kept"},
                    ]
                },
            },
        }

    def again(self, *again: str, spec: Json = None) -> Reset:
        gone = {key for key, path in self.paths.items() if path in again}
        return reset(self.workflow, spec or self.spec, self.paths, gone, now=NOW)


def names(result: Reset) -> set[str]:
    return {node["name"].removeprefix(f"{RUN}.") for node in read_nodes(result.workflow).values()}


def phases(result: Reset) -> dict[str, str]:
    nodes: Mapping[str, Json] = read_nodes(result.workflow)
    return {node["name"].removeprefix(f"{RUN}."): node["phase"] for node in nodes.values()}


CHAIN = spec(
    dag("main", task("first"), task("bad", depends="first"), task("after", depends="bad")),
    dag("on-exit", task("tell")),
    onExit="on-exit",
)


def chain() -> Run:
    run = Run(CHAIN)
    run.add("", "Failed", type="DAG", template="main")
    given = {"parameters": [{"name": "x", "value": "kept", "globalName": "of-first"}]}
    first = run.add("first", outputs=given)
    lost = {"parameters": [{"name": "x", "value": "old", "globalName": "of-bad"}]}
    bad = run.add("bad", "Failed", below=[first], outputs=lost)
    run.add("after", "Omitted", type="Skipped", below=[bad])
    on_exit = run.add("onExit", type="DAG", inside=None, template="on-exit")
    run.add("onExit.tell", inside=on_exit, path="exit:tell")
    return run


def test_the_failed_step_is_gone_and_what_it_is_in_runs_again() -> None:
    result = chain().again("bad")
    assert phases(result) == {RUN: "Running", "first": "Succeeded"}
    nodes = read_nodes(result.workflow)
    assert nodes[RUN]["startedAt"] == "2026-01-31T08:00:00Z"
    assert nodes[RUN]["finishedAt"] is None
    assert nodes[RUN]["children"] == [f"{RUN}.first"]
    assert nodes[f"{RUN}.first"]["children"] == []
    assert nodes[f"{RUN}.first"]["finishedAt"] == "2026-01-30T00:00:01Z"


def test_a_workflow_that_becomes_too_large_is_compressed() -> None:
    run = chain()
    large = {**CHAIN, "templates": [*CHAIN["templates"], {"name": "x", "script": "x" * (1 << 20)}]}
    result = run.again("bad", spec=large)
    assert "nodes" not in result.workflow["status"]
    assert phases(result) == {RUN: "Running", "first": "Succeeded"}


def test_what_waits_for_what_runs_again_cannot_be_kept() -> None:
    with pytest.raises(RefusedError, match='"bad" cannot keep its end, since it waits for "first"'):
        chain().again("first")


def test_a_step_that_is_removed_leaves_no_hole() -> None:
    before = spec(
        dag("main", task("a"), task("b", depends="a"), task("c", depends="b"), task("bad"))
    )
    run = Run(before)
    run.add("", "Failed", type="DAG", template="main")
    a = run.add("a")
    b = run.add("b", below=[a])
    run.add("c", below=[b])
    run.add("bad", "Failed")
    after = spec(dag("main", task("a"), task("c", depends="a"), task("bad")))
    result = run.again("bad", "b", spec=after)
    assert names(result) == {RUN, "a", "c"}
    nodes = read_nodes(result.workflow)
    assert f"{RUN}.c" in {one for node in nodes.values() for one in node.get("children", ())}


def test_what_argo_would_make_otherwise_cannot_be_kept() -> None:
    run = Run(spec(dag("main", task("a"), task("bad"))))
    run.add("", "Failed", type="DAG", template="main")
    run.add("a")
    run.add("bad", "Failed")
    after = spec(dag("main", task("a", "group"), task("bad")), dag("group", task("inside")))
    with pytest.raises(RefusedError, match='"a" cannot keep its end, since the workflow as it is'):
        run.again("bad", spec=after)
    assert names(run.again("a", "bad", spec=after)) == set()


def items() -> Run:
    each = task("each", withItems=["a", "b.c", "d("])
    run = Run(spec(dag("main", each, task("all", depends="each"))))
    run.add("", "Failed", type="DAG", template="main")
    group = run.add("each", "Failed", type="TaskGroup")
    run.add("each(0:a)", below=[group], path="each[0]")
    bad = run.add("each(1:b.c)", "Failed", below=[group], path="each[1]")
    run.add("each(2:d)", below=[group], path="each[2]")
    run.add("all", "Omitted", type="Skipped", below=[bad])
    return run


def test_a_foreach_of_which_nothing_is_kept_is_begun_anew() -> None:
    run = items()
    other = run.add("other")
    run.spec["templates"][0]["dag"]["tasks"].append(task("other"))
    assert other in run.paths
    assert names(run.again("each[0]", "each[1]", "each[2]")) == {RUN, "other"}


def test_nothing_kept_is_a_new_run() -> None:
    result = chain().again("first", "bad")
    assert names(result) == set()
    assert result.workflow["status"]["nodes"] == {}


def test_the_last_attempt_of_a_group_becomes_the_first() -> None:
    group = dag("group", task("a"), task("b", depends="a"), retryStrategy={"limit": 1})
    run = Run(spec(dag("main", task("g", "group"))))
    run.spec["templates"].insert(1, group)
    run.add("", "Failed", type="DAG", template="main")
    tried = run.add("g", "Failed", type="Retry", template="group", path=None)
    for number in (0, 1):
        attempt = run.add(
            f"g({number})",
            "Failed",
            type="DAG",
            below=[tried],
            template="group",
            nodeFlag={"retried": True},
        )
        is_last = number == 1  # only the attempt that counts has paths
        a = run.add(f"g({number}).a", inside=attempt, path="g/a" if is_last else None)
        where = "g/b" if is_last else None
        run.add(f"g({number}).b", "Failed", inside=attempt, below=[a], path=where)
    result = run.again("g/b")
    assert phases(result) == {
        RUN: "Running",
        "g": "Running",
        "g(0)": "Running",
        "g(0).a": "Succeeded",
    }
    nodes = {node["name"]: node for node in read_nodes(result.workflow).values()}
    attempt = nodes[f"{RUN}.g(0)"]
    assert attempt["displayName"] == "g(0)"
    assert nodes[f"{RUN}.g"]["children"] == [attempt["id"]]
    assert nodes[f"{RUN}.g(0).a"]["boundaryID"] == attempt["id"]
    assert attempt["children"] == [nodes[f"{RUN}.g(0).a"]["id"]]
    assert attempt["id"] != f"{RUN}.g(1)"


def test_only_a_handler_that_failed_runs_again() -> None:
    run = Run(CHAIN)
    run.add("", "Succeeded", type="DAG", template="main")
    a = run.add("first")
    b = run.add("bad", below=[a])
    run.add("after", below=[b])
    on_exit = run.add("onExit", "Failed", type="DAG", inside=None, template="on-exit")
    run.add("onExit.tell", "Failed", inside=on_exit, path="exit:tell")
    assert names(run.again("exit:tell")) == {RUN, "first", "bad", "after"}
