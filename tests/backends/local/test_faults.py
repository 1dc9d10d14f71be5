"""The workflow of 60 steps while its engine, its steps or its disk fail: a short benchmark.

`benchmarks/faults.py` does the same many more times.
"""

from __future__ import annotations

import shutil
import sys

import pytest

from tests.support.fault_campaigns import Campaign, Figures, NoSmallDiskError
from tests.support.fault_engine import FILE_BYTES
from tests.support.fault_runs import POINTS, kill_point

pytestmark = [
    pytest.mark.skipif(
        sys.platform != "linux" or shutil.which("flock") is None,
        reason="looks into /proc, and its steps hold locks",
    ),
    pytest.mark.timeout(1800),
]

SLOW = pytest.mark.slow
NIGHTLY = pytest.mark.nightly


@pytest.fixture(scope="module")
def campaign(tmp_path_factory: pytest.TempPathFactory) -> Campaign:
    return Campaign(tmp_path_factory.mktemp("faults"), seed=7)


@pytest.mark.slow
@pytest.mark.parametrize("kills", [2, pytest.param(12, marks=NIGHTLY)])
def test_killed_engine(kills: int, campaign: Campaign) -> None:
    figures = campaign.kill_engine(kills)
    assert (figures.faults.total(), figures.broken) == (kills, [])


@pytest.mark.slow
@pytest.mark.parametrize(
    ("point", "numbers"),
    [("write", (40,)), *(pytest.param(point, (1, 2, 30, 70), marks=NIGHTLY) for point in POINTS)],
)
def test_engine_killed_at_one_point_of_each_session(
    point: str, numbers: tuple[int, ...], campaign: Campaign
) -> None:
    figures = Figures()
    with campaign.new_run() as run:
        for number in numbers:
            run.session(environ=kill_point(point, number))
        campaign.finish(run, figures)
    assert figures.broken == []


@SLOW
def test_killed_steps(campaign: Campaign) -> None:
    figures = campaign.kill_steps(10)
    assert figures.faults.total() >= 1
    assert figures.broken == []


@pytest.mark.nightly
@SLOW
def test_engine_asked_to_end(campaign: Campaign) -> None:
    assert campaign.send_signals(4).broken == []


@SLOW
def test_full_disk(campaign: Campaign) -> None:
    try:
        figures = campaign.fill_disk(4)
    except NoSmallDiskError as error:
        pytest.skip(str(error))
    assert figures.broken == []


@SLOW
@pytest.mark.parametrize("most", [8_000, 100_000, 300_000])
def test_files_that_cannot_grow(most: int, campaign: Campaign) -> None:
    """As a full disk, for those who cannot mount one."""
    figures = Figures()
    with campaign.new_run() as run:
        stopped = run.session(environ={FILE_BYTES: str(most)})
        assert stopped.exit_code in (1, 4), stopped.stderr
        assert len(stopped.stderr.splitlines()) == (stopped.exit_code == 4), stopped.stderr
        run.check_processes()
        campaign.finish(run, figures)
    assert figures.broken == []
