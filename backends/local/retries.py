"""Whether and when an attempt is followed by another (docs/semantics.md, section 13)."""

from __future__ import annotations

import math
import typing as t

from couler.ir.policies import Backoff, Retry

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
