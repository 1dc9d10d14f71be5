"""The model of Argo's own retry says what Argo's function says (tests/support/argo_retry)."""

from __future__ import annotations

import json
import typing as t
from pathlib import Path

import pytest

from couler.backends.argo.argo_retry import deleted_by_retry, runs_the_same

_RECORDED: t.Any = json.loads((Path(__file__).parent / "retries.json").read_text())


@pytest.mark.parametrize("name", _RECORDED)
def test_what_argos_own_retry_deletes(name: str) -> None:
    recorded = _RECORDED[name]
    workflow = {
        "metadata": {"name": recorded["workflow"]},
        "status": {"phase": "Failed", "nodes": recorded["nodes"]},
    }
    deleted = deleted_by_retry(workflow)
    assert deleted == set(recorded["deleted"])
    assert runs_the_same(workflow, deleted)
    pods = [key for key in deleted if recorded["nodes"][key]["type"] == "Pod"]
    assert all(not runs_the_same(workflow, deleted - {pod}) for pod in pods)


def test_the_task_that_fails_a_loop_at_its_bound_may_run_again() -> None:
    def node(name: str, **fields: object) -> dict[str, object]:
        return {"id": name, "name": name, "phase": "Failed", **fields}

    limit = node("run.count.limit", type="Pod", templateName="couler-loop-limit")
    nodes = {
        "run": node("run", type="DAG", children=["run.count"]),
        "run.count": node("run.count", type="DAG", children=["run.count.limit"]),
        "run.count.limit": limit,
    }
    workflow = {"metadata": {"name": "run"}, "status": {"nodes": nodes}}
    assert "run.count.limit" in deleted_by_retry(workflow)
    assert runs_the_same(workflow, frozenset())
    nodes["run.count.limit"] = {**limit, "templateName": "another"}
    assert not runs_the_same(workflow, frozenset())
