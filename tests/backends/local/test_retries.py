"""When another attempt follows, and after how long."""

from __future__ import annotations

from pathlib import Path

from couler.backends.base import RunOptions
from couler.backends.local import LocalBackend
from couler.ir.policies import Backoff, Retry, retry_policy
from couler.ir.semantics.retries import wait_seconds
from tests.corpus.build import flow, sh


def test_wait() -> None:
    def seconds(backoff: Backoff | None, retries: int) -> float:
        return wait_seconds(retry_policy(Retry(limit=1, backoff=backoff)), retries)

    assert seconds(None, 3) == 0
    assert [seconds(Backoff(seconds=1.5), n) for n in range(3)] == [1.5, 3, 6]
    assert seconds(Backoff(seconds=1, cap_s=60), 5000) == 60


def test_a_wait_beyond_the_bound_is_not_begun(tmp_path: Path) -> None:
    bounded = Backoff(seconds=60, max_duration_s=61)
    script = f"echo x >> {tmp_path}/tries; sleep 1.2; exit 1"
    step = sh("a", script, result=None, retry=Retry(limit=5, backoff=bounded))
    result = LocalBackend().run(flow("w", step), options=RunOptions(home=tmp_path / "home"))
    assert (result.status, (tmp_path / "tries").read_text()) == ("failed", "x\n")
