"""The cache under a budget while engines are killed: a short `benchmarks/cache_faults.py`."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.cache_faults import CacheCampaign, expected


def test_what_a_run_must_give_is_worked_out_apart() -> None:
    values = {"rows": "1", "table": "2", "model": "3", "plot": "0"}
    assert expected(values) != expected({**values, "plot": "1"})


@pytest.mark.slow
@pytest.mark.timeout(1800)
@pytest.mark.parametrize("kills", [2, pytest.param(8, marks=pytest.mark.nightly)])
def test_killed_engines_leave_a_whole_cache(kills: int, tmp_path: Path) -> None:
    campaign = CacheCampaign(tmp_path, seed=7)
    campaign.kill(kills)
    campaign.finish()
    assert campaign.broken == []
    assert campaign.kills.total() >= kills
    assert campaign.decisions()["evicted"] > 0
