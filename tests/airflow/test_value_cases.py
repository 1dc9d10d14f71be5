"""Values and conditions under Airflow are those of this machine."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.fakes.kubernetes.cluster import FakeCluster
from tests.support.airflow_compare import assert_same_outcome
from tests.support.airflow_runs import Worker
from tests.support.value_cases import VALUE_CASES, ValueCase

pytestmark = [pytest.mark.airflow, pytest.mark.timeout(1800), pytest.mark.sampled(16)]

CASES = {name: case for name, case in VALUE_CASES.items() if "metric" not in name}
"""Airflow has no metrics of a workflow."""


@pytest.mark.parametrize("case", CASES.values(), ids=CASES)
def test_outcome(case: ValueCase, airflow: Worker, cluster: FakeCluster, tmp_path: Path) -> None:
    assert_same_outcome(case.workflow(), airflow, cluster, tmp_path)
