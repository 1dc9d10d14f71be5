"""The paper's two heuristics, as greedy methods of our own that need no planner."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass

from couler.optimizers.grouping.baselines import fitting
from couler.optimizers.grouping.contracting import Contracting
from couler.optimizers.grouping.convex import split_by_level
from couler.optimizers.grouping.moving import move_operators
from couler.optimizers.grouping.problem import Costs, Problem
from couler.optimizers.grouping.solution import (
    Solution,
    assemble_members,
    order_of_groups,
    price,
    solved,
)

__all__ = ["GreedyGroups", "greedy_groups"]


@dataclass(frozen=True, slots=True)
class GreedyGroups:
    """The better of two greedy groupings by some costs."""

    # Automated Planning for Optimal Data Pipeline Instantiation, sections 4.1 and 4.2.

    costs: Costs | None = None

    def solve(self, problem: Problem) -> Solution:
        """Return the grouping."""
        weighed = problem
        if self.costs is not None:
            costs = dataclasses.replace(self.costs, per_bytes=problem.costs.per_bytes)
            weighed = dataclasses.replace(problem, costs=costs)
        return solved(
            problem, assemble_members(problem, made_convex(problem, greedy_groups(weighed)))
        )


def greedy_groups(problem: Problem) -> list[list[int]]:
    """Return greedy groups by the costs of a problem, which in batch mode may wait in a circle."""
    # Seconds that are lost are defined only for groups that do not wait in a circle.
    costs = dataclasses.replace(problem.costs, per_lost_s=0.0)
    free = (
        problem
        if problem.mode == "streaming"
        else dataclasses.replace(
            problem,
            mode="streaming",
            limits=dataclasses.replace(problem.limits, memory_bytes=None, gpus=None),
            costs=costs,
        )
    )
    found = [
        move_operators(free, groups) for groups in (Contracting(free).run(), largest_coverage(free))
    ]
    return min(found, key=lambda groups: price(free, assemble_members(free, groups)).total)


def largest_coverage(problem: Problem) -> list[list[int]]:
    """Return groups of the image that runs most of what is left, again and again."""
    left = dict.fromkeys(problem.order)
    groups = []
    while left:
        counts = dict.fromkeys(problem.useful_images, 0)
        for node in left:
            for image in problem.allowed[node]:
                if image in counts:
                    counts[image] += 1
        image = max(counts, key=lambda one: (counts[one], -problem.image_costs[one], -one))
        members = fitting(problem, [node for node in left if image in problem.allowed[node]])
        groups.append(members)
        for node in members:
            del left[node]
    return groups


def made_convex(problem: Problem, groups: list[list[int]]) -> list[list[int]]:
    """Return the groups as they are or, in batch mode if some wait in a circle, split by level."""
    if problem.mode == "streaming":
        return groups
    group_of = [0] * len(problem.operators)
    for number, some in enumerate(groups):
        for node in some:
            group_of[node] = number
    if order_of_groups(problem, group_of, len(groups)) is not None:
        return groups
    return split_by_level(problem, groups)
