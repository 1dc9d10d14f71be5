"""Drawn values travel under Airflow as on this machine."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.fakes.kubernetes.cluster import FakeCluster
from tests.support.airflow_compare import assert_same_outcome
from tests.support.airflow_runs import Worker
from tests.support.drawn_flows import drawn_flow

pytestmark = [
    pytest.mark.airflow,
    pytest.mark.timeout(1800),
    pytest.mark.sampled(10),
]


@pytest.mark.parametrize("seed", range(10))
def test_ten_values(seed: int, airflow: Worker, cluster: FakeCluster, tmp_path: Path) -> None:
    assert_same_outcome(drawn_flow(seed, 10), airflow, cluster, tmp_path)
