"""No process outlives its step, its run or its engine, whatever it does to stay."""

from __future__ import annotations

import shutil
import signal
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from couler.ir.policies import Retry
from couler.ir.workflow import Step
from tests.corpus.build import flow
from tests.support.fault_runs import FaultRun, Watched
from tests.support.fault_workflow import job

pytestmark = pytest.mark.skipif(
    sys.platform != "linux" or shutil.which("flock") is None, reason="looks into /proc"
)

HARD = {
    "child": "sleep 60 & sleep 60; ",
    "deaf": "trap '' TERM; sleep 60 & sleep 60; ",
    "deaf-child": "(trap '' TERM; sleep 60; sleep 60) & sleep 60; ",
    "away": "setsid sleep 60 9>&- & sleep 60; ",
    "away-and-deaf": "setsid sh -c 'trap \"\" TERM; sleep 60; sleep 60' 9>&- & sleep 60; ",
    "twice-away": "setsid sh -c 'setsid sleep 60 & sleep 60' 9>&- & sleep 60; ",
    "no-environment": "exec env -i sleep 60; ",
    "child-without-environment": "env -i sleep 60 & sleep 60; ",
    "stopped": "sleep 60 & kill -STOP $!; sleep 60; ",
}
"""Bodies of steps that do not end by themselves."""


@pytest.fixture
def fault_run(tmp_path: Path, request: pytest.FixtureRequest) -> Iterator[FaultRun]:
    """A run whose steps, by the names of the test's parameter, are hard to end."""
    steps: list[Step] = getattr(request, "param", [])
    run = FaultRun(flow("hard", *steps), tmp_path / "run", jobs=len(steps) or 1)
    try:
        yield run
    finally:
        run.clean_up()


def all_started(watched: Watched, count: int) -> bool:
    """Wait until so many steps have begun and have made their children."""
    begun = watched.wait_until(lambda: len(watched.run.under_way()) >= count)
    begun = begun and watched.wait_until(lambda: len(list(watched.run.processes())) > count)
    time.sleep(0.3)  # for their children, and the idle time of the journal
    return begun


def until_first(name: str, body: str) -> Step:
    """Return a step that does not end at its first start, and at once at the second."""
    return job(name, f"first && {{ {body} }}; ", result=None)


ALL = [until_first(name, body) for name, body in HARD.items()]


@pytest.mark.parametrize("fault_run", [ALL], indirect=True, ids=["all"])
@pytest.mark.parametrize(
    ("number", "times"),
    [
        (signal.SIGTERM, 1),
        pytest.param(signal.SIGINT, 2, marks=pytest.mark.slow),
        pytest.param(signal.SIGINT, 1, marks=pytest.mark.slow),
        pytest.param(signal.SIGTERM, 2, marks=pytest.mark.slow),
        pytest.param(signal.SIGHUP, 1, marks=pytest.mark.slow),
    ],
)
def test_engine_that_is_asked_to_end_leaves_nothing(
    fault_run: FaultRun, number: signal.Signals, times: int
) -> None:
    def fault(watched: Watched) -> None:
        assert all_started(watched, len(ALL))
        for _ in range(times):
            watched.engine.send_signal(number)
            time.sleep(0.2)

    ended = fault_run.session(fault)
    assert (ended.exit_code, list(fault_run.processes())) == (130, [])
    assert fault_run.query("SELECT status FROM runs") == [("cancelled",)]
    assert fault_run.session().exit_code == 0
    assert fault_run.broken == []


@pytest.mark.slow
@pytest.mark.parametrize("fault_run", [ALL], indirect=True, ids=["all"])
def test_retry_ends_what_a_killed_engine_left_before_anything_starts(fault_run: FaultRun) -> None:
    def fault(watched: Watched) -> None:
        assert all_started(watched, len(ALL))
        watched.engine.kill()

    fault_run.session(fault)
    assert len(list(fault_run.processes())) > len(ALL)
    assert fault_run.session().exit_code == 0
    assert fault_run.broken == []
    attempts = fault_run.query("SELECT DISTINCT number, status FROM attempts ORDER BY number")
    assert attempts == [(1, "interrupted"), (2, "succeeded")]


@pytest.mark.slow
@pytest.mark.parametrize(
    "fault_run",
    [[job(name, body, result=None, timeout_s=0.5) for name, body in HARD.items()]],
    indirect=True,
    ids=["all"],
)
def test_time_limit_leaves_nothing(fault_run: FaultRun) -> None:
    assert fault_run.session().exit_code == 1
    assert list(fault_run.processes()) == []


LEAVES = "setsid sleep 60 9>&- & sleep 0.1; "


@pytest.mark.slow
@pytest.mark.parametrize(
    "fault_run",
    [
        [
            job("times-out", f"{LEAVES}sleep 60; ", result=None, timeout_s=0.5),
            job("fails", f"{LEAVES}exit 1; ", result=None, retry=Retry(limit=1)),
            job("goes-on", "sleep 60; ", result=None),
        ]
    ],
    indirect=True,
    ids=["some"],
)
def test_failed_attempt_leaves_nothing_while_the_run_goes_on(fault_run: FaultRun) -> None:
    left: list[str] = []

    def fault(watched: Watched) -> None:
        query = "SELECT count(*) FROM steps WHERE status = 'failed'"
        assert watched.wait_until(lambda: fault_run.query(query) == [(2,)])
        left.extend(told for told in fault_run.processes() if "'sleep 60'" in told)
        watched.engine.send_signal(signal.SIGINT)

    assert fault_run.session(fault).exit_code == 130
    assert len(left) == 1  # of the step that goes on


@pytest.mark.slow
@pytest.mark.parametrize(
    "fault_run", [[job("ends", f"{LEAVES}", result=None)]], indirect=True, ids=["one"]
)
def test_run_that_ends_well_leaves_nothing(fault_run: FaultRun) -> None:
    assert fault_run.session().exit_code == 0
    assert list(fault_run.processes()) == []
