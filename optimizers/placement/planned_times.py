"""How long steps take where they are placed, as the plan of their tasks has it."""

from __future__ import annotations

import itertools
import math
import statistics
from collections.abc import Mapping, Sequence

from couler.ir.walk import ScopeKey, scopes
from couler.ir.workflow import Group, Workflow
from couler.optimizers.durations import item_counts, turns_of
from couler.optimizers.placement.report import Report
from couler.optimizers.placement.workload import Workload
from couler.optimizers.step_times import StepTime

__all__ = ["planned_times"]


def planned_times(workflow: Workflow, workload: Workload, report: Report) -> dict[str, StepTime]:
    """Return how long steps take on the machines of a plan, waiting for room apart.

    Parameters
    ----------
    workflow, workload, report
        What was placed, and how.

    Returns
    -------
    dict of str to StepTime
        By the path of the step; those whose times are a guess are not in it, nor those of exit
        handlers, which the plan takes to need none.

    Notes
    -----
    Reading from other machines and starting a pod are in it, as they are in the plan, which also
    says how many items of a foreach run one after the other. Within a group with a foreach a step
    takes the mean over the items of the group, so that no path through it is longer than the
    longest of the plan. O(n) for n tasks.

    Examples
    --------
    >>> from couler.ir.policies import Profile
    >>> from couler.ir.workflow import Container, Step
    >>> from couler.optimizers.placement.problem import Pipeline
    >>> from couler.optimizers.placement.report import TaskSpan
    >>> step = Step(name="fit", action=Container(image="busybox"))
    >>> workload = Workload(Pipeline("w", ()), {"fit": step}, {"fit": "fit"}, {})
    >>> report = Report((), (TaskSpan("w", "fit", "node-1", 5.0, 9.0),))
    >>> planned_times(Workflow(name="w", steps=(step,)), workload, report)
    {'fit': StepTime(longest_s=4.0, mean_s=4.0)}
    """
    tasks = _seconds_of_tasks(workload, report)
    found: dict[str, StepTime] = {}
    around: dict[ScopeKey, int] = {}
    for scope in scopes(workflow):
        outer = around.get(scope.key, 1)
        counts = item_counts(scope.steps)
        for step in scope.steps:
            count = max(1, counts.get(step.name, 1))
            path = scope.path_of(step)
            if isinstance(step.action, Group):
                around[scope.handler, (*scope.path, step.name)] = outer * count
            elif scope.handler is None and path in tasks and path not in workload.guessed:
                seconds = tasks[path]
                turns, width = turns_of(step, count)
                ends = [_end_s(some, width) / turns for some in _cut(seconds, outer)]
                items = max(len(seconds), workload.items.get(path, 0))
                found[path] = StepTime(statistics.fmean(ends), math.fsum(seconds) / items)
    return found


def _seconds_of_tasks(workload: Workload, report: Report) -> Mapping[str, Sequence[float]]:
    """Return how long the tasks of each step take, in their order; with the pods of a job."""
    took = {span.task: span.end_s - span.start_s for span in report.spans}
    pods: dict[str, float] = {}
    for name, (path, _) in workload.replica_of.items():
        pods[path] = max(pods.get(path, 0.0), took.get(name, 0.0))
    found: dict[str, list[float]] = {}
    for name, path in workload.step_of.items():
        if name in took:
            found.setdefault(path, []).append(max(took[name], pods.get(path, 0.0)))
    return found


def _cut(seconds: Sequence[float], count: int) -> list[Sequence[float]]:
    """Cut the tasks of a step into those of each item of what is around it."""
    count = min(count, len(seconds))
    bounds = [number * len(seconds) // count for number in range(count + 1)]
    return [seconds[one:other] for one, other in itertools.pairwise(bounds)]


def _end_s(seconds: Sequence[float], width: int) -> float:
    """Return when the last of some tasks ends, of which so many run at the same time."""
    return max(math.fsum(seconds[lane::width]) for lane in range(min(width, len(seconds))))
