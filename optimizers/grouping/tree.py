"""The best grouping of lines and trees, by dynamic programming and without a solver."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from couler.errors import GroupingError
from couler.optimizers.grouping.problem import Problem, bits
from couler.optimizers.grouping.solution import Solution, assemble, price

MOST_CHOICES = 12
"""So many images may be used or not: 4,096 sets of images are tried at most."""


@dataclass(frozen=True, slots=True)
class TreeGroups:
    """The best grouping where edges make no circle even without their directions."""

    def solve(self, problem: Problem) -> Solution:
        """Return the grouping, which is proved."""
        if not problem.operators:
            return Solution((), 0.0, 0.0)
        wrong = _not_solvable(problem)
        if wrong:
            raise GroupingError("tree-dp cannot solve this problem; choose another method", wrong)
        groups = _stretches(problem) if problem.mode == "batch" else _labelled(problem)
        grouping = assemble(problem, groups)
        cost = price(problem, grouping).total
        return Solution(grouping, cost, cost)


def _not_solvable(problem: Problem) -> list[str]:
    from networkx.utils import UnionFind

    if problem.mode == "batch":
        is_line = (
            all(len(some) <= 1 for some in (*problem.predecessors, *problem.successors))
            and len(problem.edges) == len(problem.operators) - 1
        )
        return [] if is_line else ["batch steps are not in one line"]
    wrong = []
    if problem.held:
        wrong.append("limits of memory or GPUs may need several groups of an image")
    if problem.costs.per_lost_s:
        wrong.append("lost seconds are no sum over edges and images")
    joined = UnionFind()
    for before, after, _ in problem.pairs:
        if joined[before] == joined[after]:
            name = problem.operators[after].name
            wrong.append(f'the graph is no tree: two paths lead to "{name}"')
            break
        joined.union(before, after)
    free = len(problem.useful_images) - len(_needed(problem))
    if free > MOST_CHOICES:
        wrong.append(f"{free} images may be used or not, and at most {MOST_CHOICES} can be tried")
    return wrong


def _needed(problem: Problem) -> list[int]:
    """Return the images that some operator cannot do without."""
    return sorted({mask.bit_length() - 1 for mask in problem.masks if mask.bit_count() == 1})


def _stretches(problem: Problem) -> list[tuple[int, list[int]]]:
    """Return the best groups of a line in batch mode."""
    costs, weight_of = problem.costs, {after: weight for _, after, weight in problem.pairs}
    best: dict[int, float] = {}
    begun: list[dict[int, int]] = []  # for each place and image: the image before, or -1
    for node in problem.order:
        weight = weight_of.get(node, 0.0)
        least = min(best, key=lambda image: (best[image], image)) if best else -1
        before = best[least] + costs.inter * weight if best else 0.0
        now: dict[int, float] = {}
        came: dict[int, int] = {}
        for image in bits(problem.masks[node]):
            now[image], came[image] = before + problem.image_costs[image], least
            if image in best and best[image] + costs.intra * weight <= now[image]:
                now[image], came[image] = best[image] + costs.intra * weight, image
        best = now
        begun.append(came)
    image = min(best, key=lambda one: (best[one], one))
    groups: list[tuple[int, list[int]]] = [(image, [])]
    for node, came in zip(reversed(problem.order), reversed(begun), strict=True):
        groups[-1][1].append(node)
        if came[image] not in (image, -1):
            image = came[image]
            groups.append((image, []))
    return groups


def _labelled(problem: Problem) -> list[tuple[int, list[int]]]:
    """Return the best groups of a tree in streaming mode: one for each image that is used."""
    tree = _Rooted(problem)
    needed = _needed(problem)
    free = [image for image in problem.useful_images if image not in needed]
    least = problem.costs.intra * sum(weight for *_, weight in problem.pairs)
    best: tuple[float, dict[int, int]] | None = None
    for chosen in _subsets(free):
        images = sorted((*needed, *chosen))
        fixed = sum(problem.image_costs[image] for image in images)
        if best is not None and fixed + least >= best[0]:
            continue
        found = tree.label(images)
        if found is not None and (best is None or fixed + found[0] < best[0]):
            best = fixed + found[0], found[1]
    members: dict[int, list[int]] = {}
    for node, image in (best[1] if best else {}).items():
        members.setdefault(image, []).append(node)
    return list(members.items())


def _subsets(some: Sequence[int]) -> Iterable[tuple[int, ...]]:
    return itertools.chain.from_iterable(
        itertools.combinations(some, count) for count in range(len(some) + 1)
    )


class _Rooted:
    """A forest with a root for each of its trees."""

    def __init__(self, problem: Problem) -> None:
        self.problem = problem
        near: list[list[tuple[int, float]]] = [[] for _ in problem.operators]
        for before, after, weight in problem.pairs:
            near[before].append((after, weight))
            near[after].append((before, weight))
        self.parent: dict[int, tuple[int, float]] = {}
        self.order: list[int] = []
        seen: set[int] = set()
        for root in problem.order:
            if root in seen:
                continue
            seen.add(root)
            at = len(self.order)
            self.order.append(root)
            while at < len(self.order):
                node = self.order[at]
                at += 1
                for other, weight in near[node]:
                    if other not in seen:
                        seen.add(other)
                        self.parent[other] = node, weight
                        self.order.append(other)

    def label(self, images: Sequence[int]) -> tuple[float, dict[int, int]] | None:
        """Return the least cost of edges with some images, and an image for each operator."""
        costs, infinite = self.problem.costs, math.inf
        masks = self.problem.masks
        # What the subtree of each operator costs, for each image of its own.
        best = [[0.0 if mask >> image & 1 else infinite for image in images] for mask in masks]
        chosen: dict[int, int] = {}
        for node in reversed(self.order):
            own = best[node]
            lowest = min(own, default=infinite)
            if lowest == infinite:
                return None
            chosen[node] = own.index(lowest)
            if node in self.parent:
                parent, weight = self.parent[node]
                inside, across = costs.intra * weight, costs.inter * weight + lowest
                above = best[parent]
                for at, cost in enumerate(own):
                    above[at] += min(cost + inside, across)
        total = 0.0
        for node in self.order:
            if node not in self.parent:
                total += best[node][chosen[node]]
                continue
            parent, weight = self.parent[node]
            at, lowest = chosen[parent], best[node][chosen[node]]
            if best[node][at] + costs.intra * weight <= lowest + costs.inter * weight:
                chosen[node] = at
        return total, {node: images[at] for node, at in chosen.items()}
