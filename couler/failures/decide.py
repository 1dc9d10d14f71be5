"""Whether a failed step is tried again from outside of its engine, and when."""

from __future__ import annotations

import random as _random
import typing as t
from collections.abc import Callable
from dataclasses import dataclass

from couler.failures.explain import seconds
from couler.failures.recognise import Match


@dataclass(frozen=True, slots=True)
class WatchPolicy:
    """What may be tried again.

    Attributes
    ----------
    tries
        At most so many retries of a step, whatever the failures; 0 for never.
    only
        Names of patterns; None for all for which retrying helps.
    never
        Names of patterns that are not tried again.
    """

    tries: int = 5
    only: frozenset[str] | None = None
    never: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True)
class Wait:
    """Try again after some seconds."""

    wait_s: float
    reason: str


@dataclass(frozen=True, slots=True)
class GiveUp:
    """Do not try again."""

    reason: str


Decision: t.TypeAlias = Wait | GiveUp


def decide(
    match: Match | None,
    retries: int,
    policy: WatchPolicy | None = None,
    *,
    random: Callable[[], float] = _random.random,
) -> Decision:
    """Return whether to try again after a failure, how long to wait before, and why.

    Parameters
    ----------
    match
        What the failure was recognised as.
    retries
        How many retries there have been already of what failed.
    policy
        What may be tried again.
    random
        Returns a number in [0, 1).

    Examples
    --------
    >>> from couler.failures import recognise
    >>> busy = recognise(http_status=429)
    >>> decide(busy, 0, random=lambda: 0.5)
    Wait(wait_s=2.5, reason='TooManyRequestsErr: retry 1 of 5 in 2.5 s')
    >>> decide(busy, 5)
    GiveUp(reason='TooManyRequestsErr: 5 retries did not help')
    >>> decide(recognise("main: OOMKilled (exit code 137)"), 0)
    GiveUp(reason='OOMKilledErr: retrying does not help without a change')
    """
    if match is None:
        return GiveUp("the failure is none of those that are known to pass")
    policy = policy or WatchPolicy()
    name, backoff = match.pattern.name, match.pattern.backoff
    if backoff is None:
        return GiveUp(f"{name}: retrying does not help without a change")
    if name in policy.never or (policy.only is not None and name not in policy.only):
        return GiveUp(f"{name}: the policy does not retry it")
    most = min(backoff.tries, policy.tries)
    if retries >= most:
        times = "1 retry" if most == 1 else f"{most} retries"
        why = f"{times} did not help" if most else "no retries are allowed"
        return GiveUp(f"{name}: {why}")
    wait_s = backoff.wait_s(retries, random)
    shown = seconds(round(wait_s, 1))
    return Wait(wait_s, f"{name}: retry {retries + 1} of {most} in {shown}")
