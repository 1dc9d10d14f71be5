"""What Argo evaluates where it begins a step, and may fail at."""

from __future__ import annotations

from couler.ir.ranges import is_known
from couler.ir.values import RoundRef, walk
from couler.ir.walk import step_values
from couler.ir.workflow import Step


def may_not_begin(step: Step) -> bool:
    """Return whether Argo evaluates more than texts it was given, where it begins a lowered step.

    If that fails in a DAG, the step's node has failed and what follows hangs below it. In a
    template of steps no node is made for the step, so that what follows the template hangs nowhere
    and the run never ends (functions `executeSteps` and `updateOutboundNodes` in
    `workflow/controller/steps.go` of Argo 4.0).

    Parameters
    ----------
    step
        A step that reads nothing but parameters of what is around it, its items and its rounds.
    """
    if step.foreach is not None and not all(map(is_known, step.foreach.over.values())):
        return True
    return step.loop is not None and any(
        not isinstance(value, RoundRef) and any(isinstance(one, RoundRef) for one in walk(value))
        for _, value in step_values(step)
    )
