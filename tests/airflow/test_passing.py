"""Retries on transient errors alone: after those that pass, and after no others."""

from __future__ import annotations

import typing as t
from pathlib import Path

import pytest

from couler.backends.airflow import AirflowBackend
from couler.backends.base import Target
from couler.ir.defaults import resolve_defaults
from couler.ir.policies import Retry
from tests.corpus.build import flow, out, sh
from tests.fakes.kubernetes.cluster import FakeCluster
from tests.fakes.kubernetes.faults import PodFault
from tests.support.airflow_runs import Worker

pytestmark = [pytest.mark.airflow, pytest.mark.timeout(1800)]


def test_attempts_after_errors_that_pass(airflow: Worker, tmp_path: Path) -> None:
    transient = Retry(limit=1, on=("transient",))
    lost = {"hit": "evicted"}
    fields: dict[str, t.Any] = {"retry": transient, "labels": lost}
    shared = tmp_path / "shared"
    shared.mkdir()
    mark = shared / "begun"
    workflow = flow(
        "passing",
        # The first pod waits to be lost, the second finds that there was one.
        sh("lost-once", f"test -e {mark} || {{ touch {mark}; sleep 3600; }}", **fields),
        sh("fails", "exit 3", retry=transient),
        sh("gives-nothing", "true", retry=transient, result=None, outputs=[out("v", path="v")]),
    )
    text = AirflowBackend().compile(resolve_defaults(workflow), Target()).to_text()
    faults = [PodFault(lost, times=1, evict_after_s=0.0, once_there=mark)]
    with FakeCluster(tmp_path / "cluster", faults=faults, shared=[shared]) as cluster:
        done = airflow.run(text, workflow.name, cluster=cluster)
    found = {name: (done.states[name, -1], done.tries[name, -1]) for name, _ in done.states}
    assert found["lost-once"] == ("success", 2)
    assert found["fails"] == ("failed", 1)
    assert found["gives-nothing"] == ("failed", 1)
