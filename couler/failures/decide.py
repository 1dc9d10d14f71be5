"""Whether a failed step is tried again from outside of its engine, and when."""

from __future__ import annotations

import random as _random
import typing as t
from collections.abc import Callable
from dataclasses import dataclass

from couler.failures.explain import seconds
from couler.failures.recognise import Match

MAX_RETRIES = 5
"""How often a step is retried from outside of its engine."""


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
    limit: int = MAX_RETRIES,
    *,
    random: Callable[[], float] = _random.random,
) -> Decision:
    """Return whether to try again after a failure, how long to wait before, and why."""
    if match is None:
        return GiveUp("the failure is none of those that are known to pass")
    name, backoff = match.pattern.name, match.pattern.backoff
    if backoff is None:
        return GiveUp(f"{name}: retrying does not help without a change")
    most = min(backoff.tries, limit)
    if retries >= most:
        times = "1 retry" if most == 1 else f"{most} retries"
        why = f"{times} did not help" if most else "no retries are allowed"
        return GiveUp(f"{name}: {why}")
    wait_s = backoff.wait_s(retries, random)
    shown = seconds(round(wait_s, 1))
    return Wait(wait_s, f"{name}: retry {retries + 1} of {most} in {shown}")
