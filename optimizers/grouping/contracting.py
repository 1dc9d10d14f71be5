"""Groups that merge two by two and keep images, limits and, in batch mode, out of circles."""

from __future__ import annotations

import heapq
import random
from collections.abc import Iterable, Sequence

from couler.optimizers.grouping.problem import Problem
from couler.optimizers.grouping.timing import lost_seconds

MOST_PARTNERS = 4
"""How many partners of a group are tried where each of them takes a look at the whole graph."""


class Contracting:
    """Groups by numbers, all alone or as given; in batch mode they never wait in a circle.

    A topological order of the groups is kept up to date, and looked for paths only between the
    places of the two groups that are to merge (the dynamic order of Pearce and Kelly, for merging
    instead of new edges). Merging k groups along e edges tries e times and takes as long as there
    are groups between: near-linear in graphs whose edges are short, O(e (n + m)) at worst.
    """

    def __init__(self, problem: Problem, groups: Iterable[Sequence[int]] | None = None) -> None:
        self.problem = problem
        count = len(problem.operators)
        given = [[node] for node in problem.order] if groups is None else [*map(list, groups)]
        self.members: dict[int, list[int]] = dict(enumerate(given))
        self.group_of = [0] * count
        for number, some in self.members.items():
            for node in some:
                self.group_of[node] = number
        self.mask = {number: common_images(problem, some) for number, some in self.members.items()}
        self.held = {
            number: [sum(amounts[node] for node in some) for amounts, _ in problem.held]
            for number, some in self.members.items()
        }
        self.after: dict[int, dict[int, float]] = {number: {} for number in self.members}
        self.before: dict[int, dict[int, float]] = {number: {} for number in self.members}
        for before, after, weight in problem.pairs:
            one, other = self.group_of[before], self.group_of[after]
            if one != other:
                self.after[one][other] = self.after[one].get(other, 0.0) + weight
                self.before[other][one] = self.before[other].get(one, 0.0) + weight
        self.is_ordered = problem.mode == "batch"
        self.place = self._places() if self.is_ordered else {}
        self.lost_s = self._lost() if problem.costs.per_lost_s else 0.0
        # Then one group never costs more than the two that it is made of.
        self.always_pays = not problem.costs.per_lost_s and len(set(problem.image_costs)) <= 1

    def _places(self) -> dict[int, int]:
        waiting = {number: len(befores) for number, befores in self.before.items()}
        order = [number for number, count in waiting.items() if not count]
        for number in order:  # grows while it is read: a queue
            for after in self.after[number]:
                waiting[after] -= 1
                if not waiting[after]:
                    order.append(after)
        return {number: place for place, number in enumerate(order)}

    def groups(self) -> list[list[int]]:
        """Return the operators of each group."""
        return list(self.members.values())

    def contract_edges(self, draw: random.Random | None = None) -> None:
        """Merge the ends of edges, first those with the fewest images in common.

        Parameters
        ----------
        draw
            None: of edges with equally many images, the one that counts most. Else the order is
            disturbed at random.
        """
        queue: list[tuple[float, float, float, int, int]] = []

        def push(one: int, other: int) -> None:
            common = (self.mask[one] & self.mask[other]).bit_count()
            if common:
                weight = self.after[one].get(other, 0.0) + self.before[one].get(other, 0.0)
                noise = draw.random() if draw else 0.0
                far = common + (3.0 * noise if draw else 0.0)
                heapq.heappush(queue, (far, -weight, noise, min(one, other), max(one, other)))

        for one, others in self.after.items():
            for other in others:
                push(one, other)
        while queue:
            *_, one, other = heapq.heappop(queue)
            if one not in self.members or other not in self.members:
                continue
            if not (other in self.after[one] or other in self.before[one]):
                continue
            if self.may_merge(one, other) and self._pays(one, other):
                merged = self.merge(one, other)
                for near in {*self.after[merged], *self.before[merged]}:
                    push(merged, near)

    def merge_others(self, draw: random.Random | None = None) -> None:
        """Merge groups that share an image and wait for each other at most directly.

        Groups that start about as deep in the graph come first: between others, groups are more
        likely to get into a circle later. O(k (k + m)) for k groups.
        """
        levels = self.problem.levels
        depth = {
            number: sum(levels[node] for node in some) / len(some)
            for number, some in self.members.items()
        }
        order = sorted(self.members, key=lambda number: (depth[number], number))
        if draw is not None:
            order.sort(key=lambda number: depth[number] + 2.0 * draw.random())
        for number in order:
            one = number
            while one in self.members:
                partner = self._best_partner(one, depth)
                if partner is None:
                    break
                sizes = len(self.members[one]), len(self.members[partner])
                mean = (depth[one] * sizes[0] + depth[partner] * sizes[1]) / sum(sizes)
                one = self.merge(one, partner)
                depth[one] = mean

    def _best_partner(self, one: int, depth: dict[int, float]) -> int | None:
        far = self._far(one) if self.is_ordered else set()
        mask = self.mask[one]
        scored = []
        for other, images in self.mask.items():
            if other == one or not images & mask or other in far or not self._fits(one, other):
                continue
            near = other in self.after[one] or other in self.before[one]
            scored.append(
                (not near, abs(depth[one] - depth[other]), -(images & mask).bit_count(), other)
            )
        if self.always_pays:
            return min(scored)[-1] if scored else None
        for *_, other in heapq.nsmallest(MOST_PARTNERS, scored):
            if self._pays(one, other):
                return other
        return None

    def _far(self, one: int) -> set[int]:
        """Return the groups that cannot merge with one: a path goes through a third group."""
        found: set[int] = set()
        for edges in (self.after, self.before):
            stack = list(edges[one])
            seen = set(stack)
            while stack:
                for other in edges[stack.pop()]:
                    found.add(other)
                    if other not in seen:
                        seen.add(other)
                        stack.append(other)
        return found

    def _fits(self, one: int, other: int) -> bool:
        return all(
            mine + theirs <= limit
            for mine, theirs, (_, limit) in zip(
                self.held[one], self.held[other], self.problem.held, strict=True
            )
        )

    def may_merge(self, one: int, other: int) -> bool:
        """Return whether two groups have an image in common, fit, and make no circle."""
        if not self.mask[one] & self.mask[other] or not self._fits(one, other):
            return False
        if not self.is_ordered:
            return True
        if self.place[one] > self.place[other]:
            one, other = other, one
        return other not in self._between(self.after, one, other)

    def _between(self, edges: dict[int, dict[int, float]], start: int, end: int) -> set[int]:
        """Return what is reached from start, its edge to end left out, up to the place of end."""
        low, high = sorted((self.place[start], self.place[end]))
        stack = [near for near in edges[start] if near != end and low < self.place[near] < high]
        seen = set(stack)
        while stack:
            for near in edges[stack.pop()]:
                if near not in seen and low <= self.place[near] <= high:
                    seen.add(near)
                    if near == end:
                        return seen
                    stack.append(near)
        return seen

    def _pays(self, one: int, other: int) -> bool:
        """Return whether merging costs no more than it saves."""
        if self.always_pays:
            return True
        costs = self.problem.costs
        weight = self.after[one].get(other, 0.0) + self.before[one].get(other, 0.0)
        image_of, price_of = self.problem.cheapest_image, self.problem.image_costs
        both = price_of[image_of(self.mask[one] & self.mask[other])]
        saved = (costs.inter - costs.intra) * weight - both
        saved += price_of[image_of(self.mask[one])] + price_of[image_of(self.mask[other])]
        if costs.per_lost_s:
            saved -= costs.per_lost_s * (self._lost(one, other) - self.lost_s)
        return saved >= -1e-9

    def _lost(self, one: int | None = None, other: int | None = None) -> float:
        """Return the seconds that are lost, as if two groups were one."""
        dense: dict[int, int] = {}
        groups: list[list[int]] = []
        for number, some in self.members.items():
            if number != other or one is None:
                dense[number] = len(groups)
                groups.append(some)
        if one is not None and other is not None:
            dense[other] = dense[one]
            groups[dense[one]] = self.members[one] + self.members[other]
        return lost_seconds(self.problem, [dense[group] for group in self.group_of], groups)

    def merge(self, one: int, other: int) -> int:
        """Merge two groups that may, and return the number of what they are now."""
        place = self._reorder(one, other) if self.is_ordered else 0
        if self._degree(one) < self._degree(other):
            one, other = other, one
        if self.is_ordered:
            self.place[one] = place
        for mine, back in ((self.after, self.before), (self.before, self.after)):
            for near, weight in mine.pop(other).items():
                del back[near][other]
                if near != one:
                    mine[one][near] = mine[one].get(near, 0.0) + weight
                    back[near][one] = mine[one][near]
        for node in self.members[other]:
            self.group_of[node] = one
        self.members[one] += self.members.pop(other)
        self.mask[one] &= self.mask.pop(other)
        self.held[one] = [*map(sum, zip(self.held[one], self.held.pop(other), strict=True))]
        if self.problem.costs.per_lost_s:
            self.lost_s = self._lost()
        return one

    def _degree(self, number: int) -> int:
        return len(self.after[number]) + len(self.before[number]) + len(self.members[number])

    def _reorder(self, one: int, other: int) -> int:
        """Return a place for two groups in one, which all that leads to them is moved before."""
        if self.place[one] > self.place[other]:
            one, other = other, one
        later = self._between(self.after, one, other)
        sooner = self._between(self.before, other, one)
        moved = [
            *sorted(sooner, key=self.place.__getitem__),
            one,
            *sorted(later, key=self.place.__getitem__),
        ]
        places = sorted([*(self.place[number] for number in moved), self.place.pop(other)])
        del places[len(sooner)]  # two groups become one: a place stays empty from now on
        self.place.update(zip(moved, places, strict=True))
        return self.place.pop(one)


def common_images(problem: Problem, members: Sequence[int]) -> int:
    """Return the images that run all of some operators, as bits."""
    mask = -1
    for node in members:
        mask &= problem.masks[node]
    return mask
