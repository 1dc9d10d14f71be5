"""When another attempt follows, and after how long."""

from __future__ import annotations

import pytest

from couler.backends.local.retries import may_retry, wait_seconds
from couler.ir.policies import Backoff, Retry


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
