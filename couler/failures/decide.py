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
    """What may be tried again."""

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
    """Return whether to try again after a failure, how long to wait before, and why."""
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
