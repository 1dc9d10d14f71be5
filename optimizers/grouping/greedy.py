"""The paper's two heuristics as greedy methods without a planner, and its baselines."""

from __future__ import annotations

import dataclasses
import random
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from couler.optimizers.grouping.contracting import Contracting
from couler.optimizers.grouping.moving import move_operators
from couler.optimizers.grouping.problem import Costs, Problem
from couler.optimizers.grouping.solution import (
    Solution,
    assemble,
    assemble_members,
    order_of_groups,
    price,
    solved,
)
from couler.optimizers.partitioning.circles import quotient_edges, strong_components


# Automated Planning for Optimal Data Pipeline Instantiation, sections 4.1 and 4.2.
@dataclass(frozen=True, slots=True)
class GreedyGroups:
    """The better of two greedy groupings by some costs."""

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


def split_by_level(problem: Problem, groups: Sequence[Sequence[int]]) -> list[list[int]]:
    """Take groups that wait for each other apart, so that none do; the others stay as they are."""
    group_of = [0] * len(problem.operators)
    for number, some in enumerate(groups):
        for node in some:
            group_of[node] = number
    waits = quotient_edges(problem.predecessors, group_of, len(groups))
    circle_of = strong_components(waits)
    sizes = Counter(circle_of)
    level = [0] * len(problem.operators)
    for node in problem.order:
        circle = circle_of[group_of[node]]
        if sizes[circle] > 1:
            level[node] = max(
                (
                    level[one] + (group_of[one] != group_of[node])
                    for one in problem.predecessors[node]
                    if circle_of[group_of[one]] == circle
                ),
                default=0,
            )
    found: dict[tuple[int, int], list[int]] = {}
    for node in problem.order:
        found.setdefault((group_of[node], level[node]), []).append(node)
    return list(found.values())


@dataclass(frozen=True, slots=True)
class NoGroups:
    """Each operator by itself, in the image that costs least. O(n i) for i images."""

    def solve(self, problem: Problem) -> Solution:
        """Return the grouping."""
        return solved(problem, assemble_members(problem, [[node] for node in problem.order]))


# Automated Planning for Optimal Data Pipeline Instantiation, section 4.3.
@dataclass(frozen=True, slots=True)
class RandomGroups:
    """The random baseline of the paper."""

    seed: int = 0

    def solve(self, problem: Problem) -> Solution:
        """Return the grouping."""
        draw = random.Random(self.seed)
        left = dict.fromkeys(range(len(problem.operators)))
        groups: list[tuple[int, list[int]]] = []
        while left:
            runs: dict[int, list[int]] = {}
            for node in left:
                for image in problem.allowed[node]:
                    runs.setdefault(image, []).append(node)
            image = draw.choice(sorted(runs))
            chosen = draw.sample(runs[image], draw.randint(1, len(runs[image])))
            members = fitting(problem, chosen)
            groups.append((image, members))
            for node in members:
                del left[node]
        if problem.mode == "streaming":
            return solved(problem, assemble(problem, groups))
        image_of = {node: image for image, members in groups for node in members}
        split = split_by_level(problem, [members for _, members in groups])
        return solved(
            problem, assemble(problem, [(image_of[members[0]], members) for members in split])
        )


def fitting(problem: Problem, members: list[int]) -> list[int]:
    """Return those operators that fit into a pod, the first ones first."""
    totals = [0.0] * len(problem.held)
    found = []
    for node in members:
        sums = [
            total + amounts[node] for total, (amounts, _) in zip(totals, problem.held, strict=True)
        ]
        if all(one <= limit for one, (_, limit) in zip(sums, problem.held, strict=True)):
            totals = sums
            found.append(node)
    return found
