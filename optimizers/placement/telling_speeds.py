"""What the plan says of the speeds that the pass `place` went by."""

from __future__ import annotations

from collections.abc import Sequence

from couler.ir.wording import few_text, power_text
from couler.optimizers.base import PassContext
from couler.optimizers.placement.learning import Learned
from couler.optimizers.placement.scaling import Scaled
from couler.optimizers.placement.workload import Workload

__all__ = ["tell_learned", "tell_scaled"]


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
