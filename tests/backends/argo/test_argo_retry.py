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
