"""What Argo evaluates where it begins a step, and may fail at."""

from __future__ import annotations

from couler.ir.ranges import is_known
from couler.ir.values import RoundRef, walk
from couler.ir.walk import step_values
from couler.ir.workflow import Step


def may_not_begin(step: Step) -> bool:
    """Whether Argo evaluates more than texts it was given, where it begins a lowered step."""
    if step.foreach is not None and not all(map(is_known, step.foreach.over.values())):
        return True
    return step.loop is not None and any(
        not isinstance(value, RoundRef) and any(isinstance(one, RoundRef) for one in walk(value))
        for _, value in step_values(step)
    )
