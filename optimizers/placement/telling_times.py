"""What the plan says of the times of steps that are guessed, and what machines cost for them."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from couler.cluster.model import Cluster
from couler.ir.walk import ScopeKey, scopes
from couler.ir.wording import few_text, power_text
from couler.ir.workflow import Group, Workflow
from couler.optimizers.base import PassContext
from couler.optimizers.durations import item_counts
from couler.optimizers.estimate import Figure
from couler.optimizers.figure_texts import seconds_text
from couler.optimizers.placement.learning import Learned, Scaled
from couler.optimizers.placement.parallelism import USUAL_OPERATIONS_PER_S
from couler.optimizers.placement.report import Report
from couler.optimizers.placement.workload import Workload


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
