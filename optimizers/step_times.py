"""How long steps take by what a pass knows better than their profiles do."""

from __future__ import annotations

import statistics
import typing as t
from collections.abc import Callable, Mapping

from couler.ir.policies import Profile
from couler.ir.rewrite import map_scopes
from couler.ir.walk import Scope
from couler.ir.workflow import Step, Workflow

if t.TYPE_CHECKING:
    from couler.optimizers.log import PassRecord

__all__ = ["StepTime", "StepTimes", "times_after", "with_longest", "with_means"]


class StepTime(t.NamedTuple):
    """How long one item and one round of a step takes, in seconds.

    Attributes
    ----------
    longest_s
        By which it ends: of items that run at the same time the longest one.
    mean_s
        The mean over all items.
    """

    longest_s: float
    mean_s: float


StepTimes: t.TypeAlias = Mapping[str, StepTime]
"""By the path of the step; those that are not known are not in it."""


def with_longest(workflow: Workflow, times: StepTimes | None) -> Workflow:
    """Return a workflow whose profiles say when steps end by some times; O(n) for n steps.

    Examples
    --------
    >>> from couler.ir.workflow import Container
    >>> flow = Workflow(name="w", steps=(Step(name="a", action=Container(image="busybox")),))
    >>> with_longest(flow, {"a": StepTime(3.0, 2.0)}).steps[0].profile.seconds
    3.0
    """
    return _timed(workflow, times, lambda time: time.longest_s)


def with_means(workflow: Workflow, times: StepTimes | None) -> Workflow:
    """Return a workflow whose profiles say what items of steps take on the mean; O(n)."""
    return _timed(workflow, times, lambda time: time.mean_s)


def times_after(record: PassRecord, times: StepTimes) -> StepTimes:
    """Return what is known of times after a pass.

    Parameters
    ----------
    record
        What the pass did.
    times
        What was known before it.

    Returns
    -------
    StepTimes
        What the pass itself knows, if it knows any. Else a step that it moved takes as long as
        before, and a foreach that it made of others as long as the longest of them. What else it
        made of several steps takes what its profile says.
    """
    if record.times is not None:
        return record.times
    if not times or record.after is record.before:
        return times
    found: dict[str, StepTime] = {}
    for path, sources in record.sources.items():
        known = [times[one] for one in sources if one in times]
        if len(known) == len(sources) and (len(known) == 1 or path in record.item_steps):
            found[path] = StepTime(
                max(one.longest_s for one in known), statistics.fmean(one.mean_s for one in known)
            )
    return found


def _timed(
    workflow: Workflow, times: StepTimes | None, seconds: Callable[[StepTime], float]
) -> Workflow:
    if not times:
        return workflow

    def timed(scope: Scope) -> tuple[Step, ...]:
        return tuple(
            step if time is None else _lasting(step, seconds(time))
            for step, time in ((one, times.get(scope.path_of(one))) for one in scope.steps)
        )

    return map_scopes(workflow, timed)


def _lasting(step: Step, seconds: float) -> Step:
    profile = step.profile or Profile()
    if profile.seconds == seconds:
        return step
    return step.model_copy(update={"profile": profile.model_copy(update={"seconds": seconds})})
