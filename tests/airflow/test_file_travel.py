"""Files and folders reach their readers as they were made, under Airflow."""

from __future__ import annotations

import pytest

from couler.backends.airflow import AirflowBackend
from couler.ir.defaults import resolve_defaults
from tests.fakes.kubernetes.cluster import FakeCluster
from tests.support.airflow_outcome import AirflowOutcome
from tests.support.airflow_runs import Worker
from tests.support.airflow_target import with_files
from tests.support.file_travel import WANTED, file_travel

pytestmark = [pytest.mark.airflow, pytest.mark.timeout(1800)]

_LAST = {
    "folders": "sizes",
    "tree": "listed",
    "tool": "used",
    "absent": "maybe",
    "box": "read",
    "names": "names",
}


def test_outcome(airflow: Worker, cluster: FakeCluster) -> None:
    workflow = resolve_defaults(file_travel())
    text = AirflowBackend().compile(workflow, with_files()).to_text()
    done = airflow.run(text, workflow.name, cluster=cluster)
    there = AirflowOutcome(workflow, done.state, done.states, done.xcoms)
    assert there.status == "succeeded", done.log
    assert {name: str(there.outputs[step]["result"]) for name, step in _LAST.items()} == WANTED
