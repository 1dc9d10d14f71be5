"""Texts of users reach processes unchanged through Airflow itself and a kubelet's expansion."""

from __future__ import annotations

import sys

import pytest

from couler.backends.airflow import AirflowBackend
from couler.backends.base import Target
from couler.ir.defaults import resolve_defaults
from tests.backends.airflow.hostile import Batch, is_possible, texts
from tests.fakes.kubernetes.cluster import FakeCluster
from tests.support.airflow_runs import Worker

pytestmark = [pytest.mark.airflow, pytest.mark.timeout(1800)]

BATCHES = 4


def test_texts_arrive(
    airflow: Worker, cluster: FakeCluster, capsys: pytest.CaptureFixture[str]
) -> None:
    """Another share of the texts goes each way in each run."""
    found = [text for text in texts() if is_possible(text)]
    for number in range(BATCHES):
        batch = Batch(found[number::BATCHES])
        source = AirflowBackend().compile(resolve_defaults(batch.workflow), Target()).to_text()
        run = airflow.run(source, batch.workflow.name, cluster=cluster)
        assert run.state == "success", run.log
        printed = {
            task if index < 0 else f"{task}[{index}]": value["result"]
            for (task, index), value in run.xcoms.items()
            if isinstance(value, dict) and "result" in value
        }
        assert list(batch.differences(printed)) == []
        outputs = run.xcoms["files", -1]
        assert outputs == {**batch.outputs(), "result": outputs["result"]}
    with capsys.disabled():
        sys.stdout.write(f" {len(found)} texts unchanged ")
