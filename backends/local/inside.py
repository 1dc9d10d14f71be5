"""How the steps ended that a step ran inside: what its log tells of them."""

from __future__ import annotations

import asyncio
import os
from dataclasses import replace

from couler.backends.local.ends import Attempt, Bound
from couler.backends.local.place import Place
from couler.ir.grouped import GROUPED, InnerEnd, read_report
from couler.ir.wording import counted

_TAIL_BYTES = 8 << 20
"""How much of a log is looked through for its last line."""


async def tell_inside(attempt: Attempt, bound: Bound, place: Place, number: int) -> Attempt:
    """Return an attempt with how the steps inside ended, which its message names if some failed."""
    if bound.step.origin != GROUPED:
        return attempt
    inside = await asyncio.to_thread(_read, place.log(bound.path), number)
    failed = [one for one in inside if one.state == "failed"]
    if not failed or attempt.kind != "failure" or attempt.exit_code is None:
        return replace(attempt, inside=inside)
    first, others = failed[0], len(failed) - 1
    more = f", and {counted(others, 'other step')} of it failed" if others else ""
    told = f"its step {first.name} failed: {first.message}{more}"
    return replace(attempt, inside=inside, message=told)


def _read(log: str, number: int) -> tuple[InnerEnd, ...]:
    try:
        with open(log, "rb") as file:
            file.seek(max(0, os.fstat(file.fileno()).st_size - _TAIL_BYTES))
            text = file.read().decode(errors="replace")
    except OSError:  # what nobody can read tells nothing
        return ()
    if number > 1:
        text = text.rpartition(f"--- attempt {number} ---\n")[2]
    return read_report(text.splitlines())
