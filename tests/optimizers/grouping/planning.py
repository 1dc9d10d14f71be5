"""Plans as a planner would find them."""

from __future__ import annotations

from couler.optimizers.grouping.problem import Grouping, Problem
from couler.optimizers.grouping.solution import numbers_of


def plan_of(problem: Problem, grouping: Grouping) -> list[tuple[str, ...]]:
    """Return the plan that makes a grouping with one group for each of its images."""
    names = [image.name for image in problem.images]
    group_of = numbers_of(problem, grouping)
    image_of = [names.index(grouping[group].image) for group in group_of]
    plan: list[tuple[str, ...]] = [("open-group", f"i{image}") for image in sorted(set(image_of))]
    moment = 0
    for node in problem.order:
        times = f"t{moment}", f"t{moment + 1}"
        plan.append(("put-operator", *times, f"o{node}", f"i{image_of[node]}"))
        moment += 1
        for before in sorted(problem.predecessors[node], key=problem.rank.__getitem__):
            link = f"t{moment}", f"t{moment + 1}", f"o{before}", f"o{node}"
            moment += 1
            if image_of[before] == image_of[node]:
                plan.append(("link-inside", *link, f"i{image_of[node]}"))
            else:
                images = f"i{image_of[before]}", f"i{image_of[node]}"
                plan.append(("link-across", *link, *images))
    return plan
