"""Whether and when an attempt is followed by another (docs/semantics.md, section 13).

Pods of groups carry these functions. A policy is what `couler.ir.policies.retry_policy` returns.
"""

from __future__ import annotations

import math
from typing import Any


def next_wait(
    policy: dict[str, Any],
    attempts: int,
    kind: str | None,
    exit_code: int | None,
    since_first_s: float,
) -> float | None:
    """Return the seconds to wait before another attempt; None if there is none."""
    if attempts > policy.get("limit", 0) or kind not in policy["on"]:
        return None
    if policy.get("exit_codes") and exit_code not in policy["exit_codes"]:
        return None
    wait_s = wait_seconds(policy, attempts - 1)
    left_s = seconds_left(policy, since_first_s)
    return None if left_s is not None and wait_s > left_s else wait_s


def attempt_seconds(
    policy: dict[str, Any], attempts: int, since_first_s: float, *limits_s: float | None
) -> float | None:
    """Return how long the next attempt may take, None for without end."""
    left_s = seconds_left(policy, since_first_s) if attempts else None
    return min((one for one in (left_s, *limits_s) if one is not None), default=None)


def wait_seconds(policy: dict[str, Any], retries: int) -> float:
    """Return the seconds to wait before the next retry."""
    cap_s: float = policy.get("cap_s") or math.inf
    try:
        wait_s: float = policy.get("seconds", 0.0) * policy.get("factor", 1.0) ** retries
        return min(wait_s, cap_s)
    except OverflowError:  # after some thousand retries
        return cap_s


def seconds_left(policy: dict[str, Any], since_first_s: float) -> float | None:
    """Return how long all attempts together may still take, None for without end."""
    most_s = policy.get("max_duration_s")
    return None if most_s is None else max(0.0, most_s - since_first_s)
