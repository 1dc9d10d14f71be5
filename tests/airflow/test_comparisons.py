"""Comparisons under Airflow end as on this machine."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.fakes.kubernetes.cluster import FakeCluster
from tests.support.airflow_compare import assert_same_outcome
from tests.support.airflow_runs import Worker
from tests.support.comparison_cases import OPERANDS, comparisons

pytestmark = [pytest.mark.airflow, pytest.mark.timeout(1800), pytest.mark.sampled(16)]


@pytest.mark.parametrize("name", OPERANDS)
def test_with_literals(name: str, airflow: Worker, cluster: FakeCluster, tmp_path: Path) -> None:
    assert_same_outcome(comparisons(name), airflow, cluster, tmp_path)


@pytest.mark.parametrize("name", OPERANDS)
def test_with_each_other(name: str, airflow: Worker, cluster: FakeCluster, tmp_path: Path) -> None:
    assert_same_outcome(comparisons(name, OPERANDS), airflow, cluster, tmp_path)
