"""Operators that move to a group next to them where that costs less."""

from __future__ import annotations

import itertools
from collections.abc import Sequence

from couler.optimizers.grouping.problem import Problem
from couler.optimizers.grouping.solution import common_images
from couler.optimizers.grouping.timed_groups import Groups, MixedGroups, TimedGroups

MOST_PASSES = 10

MOST_LOOKS = 200
"""Up to so many operators, moves are tried that save nothing but time. Where seconds cost, after so
many moves that did not save in the end no more are tried."""


def move_operators(problem: Problem, groups: Sequence[Sequence[int]]) -> list[list[int]]:
    """Move operators to the groups of their neighbours until no move saves anything."""
    moving = _Moving(problem, groups)
    for _ in range(MOST_PASSES):
        if not sum(moving.move(node) for node in problem.order):
            break
    return [some for some in moving.groups.members if some]


class _Moving:
    def __init__(self, problem: Problem, groups: Sequence[Sequence[int]]) -> None:
        self.problem = problem
        made = TimedGroups if problem.mode == "batch" else MixedGroups
        self.groups: Groups = made(problem, groups)
        self.masks = [common_images(problem, some) for some in self.groups.members]
        self.near: list[list[tuple[int, float]]] = [[] for _ in problem.operators]
        for before, after, weight in problem.pairs:
            self.near[before].append((after, weight))
            self.near[after].append((before, weight))
        self.lost_s = self.groups.lost_s
        self.looks = 0
        self.looks_for_time = 0 < len(problem.operators) <= MOST_LOOKS and (
            problem.costs.per_lost_s > 0
        )

    def move(self, node: int) -> bool:
        """Make the best move of an operator, if any saves; return whether."""
        if self.looks > MOST_LOOKS:
            return False
        problem, group_of = self.problem, self.groups.group_of
        home = group_of[node]
        weights: dict[int, float] = {}
        for other, weight in self.near[node]:
            group = group_of[other]
            weights[group] = weights.get(group, 0.0) + weight
        own = weights.pop(home, 0.0)
        if not weights:
            return False
        rest = [one for one in self.groups.members[home] if one != node]
        rest_mask = common_images(problem, rest) if rest else 0
        left = self._image_cost(self.masks[home]) - self._image_cost(rest_mask)
        gains = []
        for group, weight in weights.items():
            mask = self.masks[group] & problem.masks[node]
            if mask and self._fits(node, group):
                gain = (problem.costs.inter - problem.costs.intra) * (weight - own)
                gain += left + self._image_cost(self.masks[group]) - self._image_cost(mask)
                gains.append((-gain, group))
        gains.sort()
        for negative, group in gains:
            if -negative <= 1e-9 and not self.looks_for_time:
                return False
            if self._try(node, group, -negative):
                self.masks[home] = rest_mask
                self.masks[group] &= problem.masks[node]
                return True
        return False

    def _try(self, node: int, group: int, gain: float) -> bool:
        """Carry a move out, and take it back if it makes a circle or does not save in the end."""
        per_lost_s = self.problem.costs.per_lost_s
        if self.groups.move([node], group):
            lost = self.groups.lost_s
            if gain - per_lost_s * (lost - self.lost_s) > 1e-9:
                self.lost_s = lost
                return True
            self.groups.take_back()
        self.looks += per_lost_s > 0
        return False

    def _image_cost(self, mask: int) -> float:
        return self.problem.image_costs[self.problem.cheapest_image(mask)] if mask else 0.0

    def _fits(self, node: int, group: int) -> bool:
        return all(
            sum(amounts[one] for one in itertools.chain(self.groups.members[group], (node,)))
            <= limit
            for amounts, limit in self.problem.held
        )
