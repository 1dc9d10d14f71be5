"""How long steps take by what a pass knows better than their profiles do."""

from __future__ import annotations

import statistics
import typing as t
from collections.abc import Callable, Mapping

from couler.ir.policies import Profile
from couler.ir.rewrite import map_scopes
from couler.ir.walk import Scope, steps_by_path
from couler.ir.workflow import Step, Workflow

if t.TYPE_CHECKING:
    from couler.optimizers.log import PassRecord

__all__ = ["StepTime", "StepTimes", "begun_steps", "times_after", "with_mean_s", "with_path_s"]


class StepTime(t.NamedTuple):
    """How long one item and one round of a step takes, in seconds."""

    path_s: float
    mean_s: float
    start_s: float = 0.0


StepTimes: t.TypeAlias = Mapping[str, StepTime]
"""By the path of the step; those that are not known are not in it."""


def begun_steps(scope: Scope, times: StepTimes) -> tuple[Step, ...]:
    """Return the steps of a scope with profiles that say how long they take in a pod that runs."""
    return _timed_steps(scope, times, lambda time: time.path_s - time.start_s)


def with_path_s(workflow: Workflow, times: StepTimes | None) -> Workflow:
    """Return a workflow whose profiles say by what paths count; O(n) for n steps."""
    return _timed(workflow, times, lambda time: time.path_s)


def with_mean_s(workflow: Workflow, times: StepTimes | None) -> Workflow:
    """Return a workflow whose profiles say what items of steps take on the mean; O(n)."""
    return _timed(workflow, times, lambda time: time.mean_s)


def times_after(record: PassRecord) -> StepTimes:
    """Return what is known of times after a pass."""
    if record.times is not None:
        return record.times
    times = record.times_before
    if not times or record.after is record.before:
        return times
    before, after = (dict(steps_by_path(flow)) for flow in (record.before, record.after))
    found: dict[str, StepTime] = {}
    for path, sources in record.sources.items():
        known = [times[one] for one in sources if one in times]
        if path in record.made_times:
            found[path] = record.made_times[path]
        elif path in times and path in sources and before[path].action == after[path].action:
            found[path] = times[path]
        elif len(known) == len(sources) and (len(known) == 1 or path in record.item_steps):
            found[path] = StepTime(
                max(one.path_s for one in known),
                statistics.fmean(one.mean_s for one in known),
                max(one.start_s for one in known),
            )
    return found


def _timed(
    workflow: Workflow, times: StepTimes | None, seconds: Callable[[StepTime], float]
) -> Workflow:
    if not times:
        return workflow
    return map_scopes(workflow, lambda scope: _timed_steps(scope, times, seconds))


def _timed_steps(
    scope: Scope, times: StepTimes, seconds: Callable[[StepTime], float]
) -> tuple[Step, ...]:
    return tuple(
        step if time is None else _lasting(step, seconds(time))
        for step, time in ((one, times.get(scope.path_of(one))) for one in scope.steps)
    )


def _lasting(step: Step, seconds: float) -> Step:
    profile = step.profile or Profile()
    if profile.seconds == seconds:
        return step
    return step.model_copy(update={"profile": profile.model_copy(update={"seconds": seconds})})
