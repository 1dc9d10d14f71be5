"""What other methods are compared with: no groups, and groups at random."""

from __future__ import annotations

import random
from dataclasses import dataclass

from couler.optimizers.grouping.convex import split_by_level
from couler.optimizers.grouping.problem import Problem
from couler.optimizers.grouping.solution import Solution, assemble, assemble_members, solved

__all__ = ["NoGroups", "RandomGroups"]


@dataclass(frozen=True, slots=True)
class NoGroups:
    """Each operator by itself, in the image that costs least. O(n i) for i images."""

    def solve(self, problem: Problem) -> Solution:
        """Return the grouping."""
        return solved(problem, assemble_members(problem, [[node] for node in problem.order]))


@dataclass(frozen=True, slots=True)
class RandomGroups:
    """The random baseline of the paper."""

    # Automated Planning for Optimal Data Pipeline Instantiation, section 4.3.

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
