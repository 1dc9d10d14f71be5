"""What made a run fail on its engine: recognised, told in words, and whether to try again."""

from __future__ import annotations

import random as _random
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path

from couler.failures import (
    Decision,
    GiveUp,
    Match,
    Wait,
    decide,
    explain,
    recognise,
)
from couler.ir.source_map import NO_CHANGE, SourceMap
from couler.state.records import StepRecord

_LOG_BYTES = 64 * 1024
"""How much of the end of a log is looked at."""


def failed_by_themselves(steps: Iterable[StepRecord]) -> tuple[StepRecord, ...]:
    """Return the instances that ran something and failed, without the groups that they are in."""
    return tuple(step for step in steps if step.status == "failed" and step.attempts)


def match_of(step: StepRecord, engine: str) -> Match | None:
    """Return what the failure of a step is recognised as."""
    return recognise(
        step.message, exit_code=step.exit_code, log=_end_of_log(step.log), system=engine
    )


def told(step: StepRecord, engine: str) -> str | None:
    """Return why a step failed, for people: what is known of such failures, or the raw message."""
    if step.status != "failed" or not step.attempts:
        return step.message
    match = match_of(step, engine)
    return step.message if match is None else explain(match)


def decide_retry(
    steps: Iterable[StepRecord],
    engine: str,
    retries: Mapping[str, int],
    limit: int,
    *,
    source_map: SourceMap = NO_CHANGE,
    random: Callable[[], float] = _random.random,
) -> Decision:
    """Return whether a run that failed is taken up again by who watches it."""
    failed = failed_by_themselves(steps)
    if not failed:
        return GiveUp("no step has failed by itself")
    waits: list[Wait] = []
    for step in failed:
        decision = decide(match_of(step, engine), retries.get(step.path, 0), limit, random=random)
        if isinstance(decision, GiveUp):
            return GiveUp(f'step "{source_map.label(step.path)}": {decision.reason}')
        waits.append(decision)
    longest = max(waits, key=lambda wait: wait.wait_s)
    reasons = Counter(wait.reason for wait in waits)
    more = "" if len(reasons) == 1 else f", and {len(reasons) - 1} more"
    return Wait(longest.wait_s, longest.reason + more)


def _end_of_log(place: str | None) -> str | None:
    if place is None:
        return None
    try:
        with Path(place).open("rb") as file:
            file.seek(max(0, file.seek(0, 2) - _LOG_BYTES))
            return file.read().decode("utf-8", errors="replace")
    except OSError:  # it was removed: the message alone tells
        return None
