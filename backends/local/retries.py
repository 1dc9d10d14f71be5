"""Whether and when an attempt is followed by another (docs/semantics.md, section 13)."""

from __future__ import annotations

import math
import typing as t

from couler.ir.policies import Backoff, Retry
from couler.ir.workflow import Step

FailureKind: t.TypeAlias = t.Literal["failure", "error", "cancelled"]
"""`failure`: it ran and ended badly; `error`: it could not run, was lost, or gave no outputs."""


def may_retry(
    retry: Retry | None, attempts: int, kind: FailureKind | None, exit_code: int | None
) -> bool:
    """Return whether a step is tried again after a failed attempt."""
    if retry is None or kind is None or attempts > retry.limit or kind not in retry.on:
        return False
    return not retry.exit_codes or exit_code in retry.exit_codes


def wait_seconds(backoff: Backoff | None, retries: int) -> float:
    """Return the seconds to wait before the next retry."""
    if backoff is None:
        return 0.0
    cap_s = math.inf if backoff.cap_s is None else backoff.cap_s
    try:
        return min(backoff.seconds * backoff.factor**retries, cap_s)
    except OverflowError:  # after some thousand retries
        return cap_s


def seconds_left(retry: Retry | None, since_first_s: float) -> float | None:
    """Return how long all attempts together may still take, None for without end."""
    if retry is None or retry.backoff is None or retry.backoff.max_duration_s is None:
        return None
    return max(0.0, retry.backoff.max_duration_s - since_first_s)


def attempt_seconds(step: Step, attempts: int, since_first_s: float) -> float | None:
    """Return how long an attempt of a process may take, None for without end."""
    left_s = seconds_left(step.retry, since_first_s) if attempts else None
    with_pod = None if step.pod is None else step.pod.timeout_s
    bounds = [bound for bound in (step.timeout_s, with_pod, left_s) if bound is not None]
    return min(bounds, default=None)
