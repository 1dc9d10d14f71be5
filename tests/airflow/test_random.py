"""Random workflows end under Airflow as on this machine."""

from __future__ import annotations

from pathlib import Path

import pytest

from couler.backends.airflow import AirflowBackend
from couler.backends.base import Target
from couler.ir.defaults import resolve_defaults
from couler.ir.verify import verify
from couler.ir.workflow import Workflow
from couler.stages.checks import check_engine
from tests.fakes.kubernetes.cluster import FakeCluster
from tests.support.airflow_compare import assert_same_outcome
from tests.support.airflow_runs import Worker
from tests.support.mill_of_flows import Mill
from tests.support.step_sources import steps_workflow

pytestmark = [pytest.mark.airflow, pytest.mark.timeout(1800), pytest.mark.sampled(4)]

SEEDS = range(1000, 1010)


def is_taken(workflow: Workflow) -> bool:
    resolved = resolve_defaults(workflow)
    sound = all(one.severity != "error" for one in verify(resolved))
    return sound and not check_engine(resolved, AirflowBackend(), Target())


def test_most_are_taken() -> None:
    assert sum(is_taken(Mill(seed).workflow()) for seed in SEEDS) * 3 >= len(SEEDS) * 2


@pytest.mark.parametrize("seed", SEEDS)
def test_outcome(seed: int, airflow: Worker, tmp_path: Path) -> None:
    workflow = Mill(seed).workflow()
    if is_taken(workflow):
        assert_same_outcome(workflow, airflow, None, tmp_path)


@pytest.mark.parametrize("seed", range(5))
def test_steps_of_any_source(
    seed: int, airflow: Worker, cluster: FakeCluster, tmp_path: Path
) -> None:
    assert_same_outcome(steps_workflow(seed, 10, tmp_path), airflow, cluster, tmp_path)
