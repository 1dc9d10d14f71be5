"""How the steps ended that a step ran inside: what its log tells of them."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from pathlib import Path

from couler.backends.local.ends import Attempt, Bound
from couler.backends.local.place import Place
from couler.ir.grouped import GROUPED
from couler.ir.wording import counted


def works_of(bound: Bound, work: Path) -> list[Path]:
    """Return the work folders of an attempt: its own, and those of the steps inside."""
    if bound.step.origin != GROUPED:
        return [work]
    return [work, *sorted(work.glob("steps/*/work"))]


async def tell_inside(attempt: Attempt, bound: Bound, place: Place, number: int) -> Attempt:
    """Return an attempt with how the steps inside ended, which its message names if some failed."""
    if bound.step.origin != GROUPED:
        return attempt
    from couler.state.inside import read_inside, unknown_ends

    report = await asyncio.to_thread(read_inside, place.log(bound.path), number)
    inside = report.ends
    if report.problem is not None:  # what is not known of them has the state of the group
        return replace(attempt, message=unknown_ends(report.problem, attempt.message))
    failed = [one for one in inside if one.state == "failed"]
    if not failed or attempt.kind != "failure" or attempt.exit_code is None:
        return replace(attempt, inside=inside)
    first, others = failed[0], len(failed) - 1
    more = f", and {counted(others, 'other step')} of it failed" if others else ""
    told = f"its step {first.name} failed: {first.message}{more}"
    return replace(attempt, inside=inside, message=told)
