"""How long steps take where they are placed, as the plan of their tasks has it."""

from __future__ import annotations

import itertools
import math
import statistics
from collections.abc import Mapping, Sequence

from couler.ir.paths import HANDLER_PREFIX
from couler.optimizers.estimate import StepTime
from couler.optimizers.placement.flattening import Level
from couler.optimizers.placement.report import Report
from couler.optimizers.placement.workload import Workload

__all__ = ["planned_times"]


def planned_times(
    workload: Workload, report: Report, pod_start_s: float = 0.0
) -> dict[str, StepTime]:
    """Return how long steps take on the machines of a plan, waiting for room apart."""
    found: dict[str, StepTime] = {}
    for path, seconds in _seconds_of_tasks(workload, report).items():
        if path in workload.guessed or path.startswith(HANDLER_PREFIX):
            continue
        levels = workload.levels.get(path, ())
        turns = math.prod(level.turns for level in levels)
        items = max(len(seconds), workload.items.get(path, 0))
        found[path] = StepTime(
            _chained_s(seconds, levels) / turns, math.fsum(seconds) / items, pod_start_s
        )
    return found


def _seconds_of_tasks(workload: Workload, report: Report) -> Mapping[str, Sequence[float]]:
    """Return how long the tasks of each step take, in their order; of a job its longest pod."""
    took = {span.task: span.end_s - span.start_s for span in report.spans}
    for name, (task, _) in workload.replica_of.items():
        took[task] = max(took.get(task, 0.0), took.get(name, 0.0))
    found: dict[str, list[float]] = {}
    for name, path in workload.step_of.items():
        if name in took:
            found.setdefault(path, []).append(took[name])
    return found


def _chained_s(seconds: Sequence[float], levels: Sequence[Level]) -> float:
    """Return how long all tasks of a step take, the innermost foreach first."""
    for depth in reversed(range(len(levels))):
        around = math.prod(level.items for level in levels[:depth])
        seconds = [_chain_s(some, levels[depth]) for some in _cut(seconds, around)]
    return seconds[0]


def _chain_s(seconds: Sequence[float], level: Level) -> float:
    """Return how long the items of a foreach take, of which each waits for one before it."""
    count = len(seconds) if level.lag is None else min(level.lag, len(seconds))
    chains = [seconds[number::count] for number in range(count)]
    if level.is_group:  # the first chain has as many as any
        return statistics.fmean(
            math.fsum(chain) for chain in chains if len(chain) == len(chains[0])
        )
    return max(map(math.fsum, chains))


def _cut(seconds: Sequence[float], count: int) -> list[Sequence[float]]:
    """Cut what is known of items into that of each item of what is around it."""
    count = min(count, len(seconds))
    bounds = [number * len(seconds) // count for number in range(count + 1)]
    return [seconds[one:other] for one, other in itertools.pairwise(bounds)]
