"""Whether and when an attempt is followed by another (docs/semantics.md, section 13)."""

from __future__ import annotations

import math
import typing as t

from couler.ir.policies import Backoff, Retry
from couler.ir.workflow import Step

FailureKind: t.TypeAlias = t.Literal["failure", "error"]
"""`failure`: it ran and ended badly; `error`: it could not run, was lost, or gave no outputs."""


def may_retry(
    retry: Retry | None, attempts: int, kind: FailureKind | None, exit_code: int | None
) -> bool:
    """Return whether a step is tried again after a failed attempt.

    Parameters
    ----------
    retry
        The step's policy.
    attempts
        How many attempts there have been.
    kind
        How the last one failed; None where trying again cannot help.
    exit_code
        The exit code of the last one, where it had one.

    Examples
    --------
    >>> twice = Retry(limit=2, exit_codes=(75,))
    >>> may_retry(twice, 2, "failure", 75), may_retry(twice, 3, "failure", 75)
    (True, False)
    >>> may_retry(twice, 1, "failure", 1)
    False
    """
    if retry is None or kind is None or attempts > retry.limit or kind not in retry.on:
        return False
    return not retry.exit_codes or exit_code in retry.exit_codes


def wait_seconds(backoff: Backoff | None, retries: int) -> float:
    """Return the seconds to wait before the next retry.

    Parameters
    ----------
    backoff
        The step's back-off; None for no wait.
    retries
        How many retries there have been.

    Examples
    --------
    >>> [wait_seconds(Backoff(seconds=2, factor=3, cap_s=10), n) for n in range(3)]
    [2.0, 6.0, 10.0]
    """
    if backoff is None:
        return 0.0
    cap_s = math.inf if backoff.cap_s is None else backoff.cap_s
    try:
        return min(backoff.seconds * backoff.factor**retries, cap_s)
    except OverflowError:  # after some thousand retries
        return cap_s


def seconds_left(retry: Retry | None, since_first_s: float) -> float | None:
    """Return how long all attempts together may still take, None for without end.

    Parameters
    ----------
    retry
        The step's policy.
    since_first_s
        Seconds since the start of the first attempt.
    """
    if retry is None or retry.backoff is None or retry.backoff.max_duration_s is None:
        return None
    return max(0.0, retry.backoff.max_duration_s - since_first_s)


def attempt_seconds(step: Step, attempts: int, since_first_s: float) -> float | None:
    """Return how long an attempt of a process may take, None for without end.

    Parameters
    ----------
    step
        The step.
    attempts
        How many attempts there have been; the first has no part in the bound of all.
    since_first_s
        Seconds since the start of the first attempt.
    """
    left_s = seconds_left(step.retry, since_first_s) if attempts else None
    with_pod = None if step.pod is None else step.pod.timeout_s
    bounds = [bound for bound in (step.timeout_s, with_pod, left_s) if bound is not None]
    return min(bounds, default=None)
