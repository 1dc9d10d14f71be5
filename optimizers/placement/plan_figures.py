"""What a plan says of the times, speeds and costs that it goes by."""

from __future__ import annotations

import itertools
import math
import statistics
from collections.abc import Collection, Mapping, Sequence

from couler.cluster.model import Cluster
from couler.ir.walk import HANDLER_PREFIX, ScopeKey, scopes
from couler.ir.wording import few_text, power_text
from couler.ir.workflow import Group, Workflow
from couler.optimizers.base import PassContext
from couler.optimizers.durations import item_counts
from couler.optimizers.estimate import Figure, StepTime
from couler.optimizers.figure_texts import seconds_text
from couler.optimizers.placement.flattening import Level
from couler.optimizers.placement.learning import Learned, Scaled
from couler.optimizers.placement.report import Report
from couler.optimizers.placement.workload import USUAL_OPERATIONS_PER_S, Workload


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


def tell_learned(context: PassContext, workload: Workload, learned: Learned) -> None:
    """Say what earlier runs tell of speeds, and of which steps that is not used."""
    left_out = workload.unlearned
    used = {task.model for task in workload.pipeline.tasks if task.operations}
    context.facts["speeds"] = [
        {
            "model": model,
            "group": place,
            "operations_per_s": rate.ops_per_s,
            "measurements": rate.measurements,
            "is_used": model in used,
        }
        for (model, place), rate in learned.items()
    ]
    told = [
        f"{model} on {place} {power_text(rate.ops_per_s)}/s ({rate.source})"
        for (model, place), rate in learned.items()
        if model in used
    ]
    if told:
        context.explain(f"Speeds by earlier runs: {', '.join(told)}.")
        context.explain(
            "couler compile, validate and schedule put go by cluster.yaml alone, so they may "
            "choose otherwise: write these speeds into it (couler cluster speeds --format yaml), "
            "or leave them out (place{learn=false})."
        )
    steps: dict[tuple[str, tuple[str, ...]], list[str]] = {}
    for path, places in left_out.items():
        profile = workload.steps[path].profile
        model = "" if profile is None or profile.model is None else profile.model
        steps.setdefault((model, places), []).append(path)
    for (model, places), paths in steps.items():
        context.explain(
            f"What earlier runs tell of {model} is not used for {few_text(paths)}: nothing tells "
            f"how fast it is on {few_text(places)}, which can run it as well."
        )


def tell_scaled(context: PassContext, workload: Workload, scaled: Sequence[Scaled]) -> None:
    """Say by what stated speeds are multiplied, beside those that earlier runs have shown."""
    used = {task.model for task in workload.pipeline.tasks if task.operations}
    scaled = [one for one in scaled if one.model in used]
    if not scaled:
        return
    context.facts["scaled_speeds"] = [
        {
            "model": one.model,
            "group": one.place,
            "stated_operations_per_s": one.stated,
            "factor": one.factor,
        }
        for one in scaled
    ]
    places: dict[tuple[str, float | None], list[str]] = {}
    for one in scaled:
        places.setdefault((one.model, one.factor), []).append(one.place)
    for (model, factor), some in places.items():
        if factor is None:
            context.explain(
                f"What is stated for {model} on {few_text(some)} may be in another unit: nothing "
                "is stated for what earlier runs have shown."
            )
        else:
            context.explain(
                f"What is stated for {model} on {few_text(some)} is taken times {factor:.3g}, as "
                "that is the ratio of what earlier runs have shown to what is stated."
            )


_HANDLER = "Exit handlers are taken to need no time."
_ITEMS = "How many items there are is not known before the run: one is counted."
_ROUNDS = "Of its rounds one is counted."


def counted_in_part(workflow: Workflow) -> dict[str, str]:
    """Return, by the paths of steps of which less is counted than may run, what is counted."""
    around: dict[ScopeKey, str] = {}
    found: dict[str, str] = {}
    for scope in scopes(workflow):
        counts = item_counts(scope.steps)
        outer = _HANDLER if scope.handler is not None else around.get(scope.key, "")
        for step in scope.steps:
            reason = outer
            if step.foreach is not None and step.name not in counts:
                reason = reason or _ITEMS
            if step.loop is not None:
                reason = reason or _ROUNDS
            if reason and isinstance(step.action, Group):
                around[scope.handler, (*scope.path, step.name)] = reason
            elif reason:
                found[scope.path_of(step)] = reason
    return found


def tell_guesses(context: PassContext, workload: Workload) -> None:
    """Say of which steps nobody knows how long they take, and what is taken for it."""
    by_speed: list[str] = []
    alike: dict[float, list[str]] = {}
    for path, seconds in workload.guessed.items():
        profile = workload.steps[path].profile
        if profile is not None and profile.operations is not None:
            by_speed.append(path)
        else:
            alike.setdefault(seconds, []).append(path)
    for seconds, paths in alike.items():
        verb, each = ("takes", "") if len(paths) == 1 else ("take", " for each")
        context.explain(
            f"Nothing tells how long {few_text(paths)} {verb}, so {seconds_text(seconds)} is "
            f"taken{each}."
        )
    if by_speed:
        usual = power_text(USUAL_OPERATIONS_PER_S)
        context.explain(
            f"Nothing tells how fast machines compute {few_text(by_speed)}, so {usual} operations "
            "a second are taken."
        )


def machine_cost(
    workload: Workload, report: Report, cluster: Cluster, in_part: Collection[str]
) -> Figure | None:
    """Return what machines cost while they run any of a workload, in US dollars."""
    cost = report.cost_usd(cluster)
    if cost is None:
        return None
    known = len(workload.steps.keys() - workload.guessed.keys() - set(in_part))
    return Figure(None if workload.guessed else cost, known, len(workload.steps))
