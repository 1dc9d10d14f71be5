"""Conditions on steps that are themselves skipped, fail or are omitted, under Airflow."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.fakes.kubernetes.cluster import FakeCluster
from tests.support.airflow_compare import assert_same_outcome
from tests.support.airflow_runs import Worker
from tests.support.condition_cases import CASES, condition_case

pytestmark = [pytest.mark.airflow, pytest.mark.timeout(1800), pytest.mark.sampled(16)]


@pytest.mark.parametrize(("producer", "state", "place"), CASES)
def test_outcome(
    producer: str, state: str, place: str, airflow: Worker, cluster: FakeCluster, tmp_path: Path
) -> None:
    assert_same_outcome(condition_case(producer, state, place), airflow, cluster, tmp_path)
