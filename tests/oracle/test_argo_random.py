"""Random workflows end under Argo's real controller as on this machine."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support import argo_oracle
from tests.support.argo_compare import assert_same_outcome, is_taken
from tests.support.mill_of_flows import Mill
from tests.support.step_sources import steps_workflow

pytestmark = [
    pytest.mark.slow,
    pytest.mark.timeout(1800),  # the first use builds Argo's programs
    pytest.mark.skipif(argo_oracle.available() is not None, reason=str(argo_oracle.available())),
]

SEEDS = range(1, 21)


def test_most_are_taken() -> None:
    assert sum(is_taken(Mill(seed).workflow()) for seed in SEEDS) * 2 >= len(SEEDS)


@pytest.mark.sampled(4)
@pytest.mark.parametrize("seed", SEEDS)
def test_outcome(seed: int, argo: argo_oracle.Session, tmp_path: Path) -> None:
    workflow = Mill(seed).workflow()
    if is_taken(workflow):
        assert_same_outcome(workflow, argo, tmp_path)


@pytest.mark.sampled(5)
@pytest.mark.parametrize("seed", range(5))
def test_steps_of_any_source(seed: int, argo: argo_oracle.Session, tmp_path: Path) -> None:
    assert_same_outcome(steps_workflow(seed, 10, tmp_path), argo, tmp_path)
