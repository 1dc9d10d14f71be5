"""When another attempt follows, and after how long."""

from __future__ import annotations

from pathlib import Path

import pytest

from couler.backends.base import RunOptions
from couler.backends.local import LocalBackend
from couler.backends.local.limits import OUT_OF_TIME
from couler.backends.local.retries import (
    attempt_seconds,
    may_retry,
    seconds_left,
    wait_seconds,
)
from couler.ir.policies import Backoff, Retry
from couler.ir.workflow import Container, Step
from tests.corpus.build import flow, sh


@pytest.mark.parametrize(
    ("retry", "attempts", "kind", "exit_code", "again"),
    [
        (None, 1, "failure", 1, False),
        (Retry(limit=1), 1, "failure", 1, True),
        (Retry(limit=1), 2, "failure", 1, False),
        (Retry(limit=1), 1, "error", None, True),
        (Retry(limit=1), 1, None, 1, False),  # cancelled, or a value that cannot be read
        (Retry(limit=1, on=("error",)), 1, "failure", 1, False),
        (Retry(limit=1, on=("failure",)), 1, "error", None, False),
        (Retry(limit=1, exit_codes=(2, 3)), 1, "failure", 3, True),
        (Retry(limit=1, exit_codes=(2, 3)), 1, "failure", 1, False),
        (Retry(limit=1, exit_codes=(2, 3)), 1, "failure", None, False),  # a time limit
    ],
)
def test_again(retry, attempts, kind, exit_code, again) -> None:  # type: ignore[no-untyped-def]  # a table
    assert may_retry(retry, attempts, kind, exit_code) is again


def test_wait() -> None:
    assert wait_seconds(None, 3) == 0
    assert [wait_seconds(Backoff(seconds=1.5), n) for n in range(3)] == [1.5, 3, 6]
    assert wait_seconds(Backoff(seconds=1, cap_s=60), 5000) == 60


def test_all_attempts_together_are_bounded() -> None:
    retry = Retry(limit=9, backoff=Backoff(seconds=1, max_duration_s=60))
    assert seconds_left(Retry(limit=9), 5) is None
    assert seconds_left(retry, 50) == 10
    assert seconds_left(retry, 70) == 0
    step = Step(name="a", action=Container(image="x"), retry=retry, timeout_s=20)
    assert [attempt_seconds(step, attempts, 50) for attempts in (0, 1)] == [20, 10]
    endless = step.model_copy(update={"timeout_s": None})
    assert [attempt_seconds(endless, attempts, 50) for attempts in (0, 1)] == [None, 10]


def test_a_run_keeps_to_the_bound_of_all_attempts(tmp_path: Path) -> None:
    """The second attempt would outlast the test, and a third one would not begin in time."""
    bounded = Backoff(seconds=0.1, factor=1, max_duration_s=1.5)
    tries = tmp_path / "tries"
    script = f"echo x >> {tries}; test $(wc -l < {tries}) = 1 || sleep 600; exit 1"
    step = sh("a", script, result=None, retry=Retry(limit=5, backoff=bounded))
    result = LocalBackend().run(flow("w", step), options=RunOptions(home=tmp_path / "home"))
    assert (result.status, result.steps["a"].message) == ("failed", OUT_OF_TIME)
    assert tries.read_text() == "x\nx\n"


def test_a_wait_beyond_the_bound_is_not_begun(tmp_path: Path) -> None:
    bounded = Backoff(seconds=60, max_duration_s=61)
    script = f"echo x >> {tmp_path}/tries; sleep 1.2; exit 1"
    step = sh("a", script, result=None, retry=Retry(limit=5, backoff=bounded))
    result = LocalBackend().run(flow("w", step), options=RunOptions(home=tmp_path / "home"))
    assert (result.status, (tmp_path / "tries").read_text()) == ("failed", "x\n")
