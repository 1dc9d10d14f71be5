"""Groups that merge two by two and keep images, limits and, in batch mode, out of circles."""

from __future__ import annotations

import heapq
import random
from collections.abc import Iterable, Sequence

from couler.optimizers.grouping.problem import Problem
from couler.optimizers.grouping.solution import (
    common_images,
    group_seconds,
    longest_path_s,
    work_seconds,
)
from couler.optimizers.grouping.timed_groups import update_ends
from couler.optimizers.partitioning.circles import topological_order

MOST_PARTNERS = 8
"""How many partners of a group are tried where not all of them pay."""

NEAREST = 100
"""Among how many groups to either side partners are looked for where lost seconds cost."""


class Contracting:
    """Groups by numbers, all alone or as given; in batch mode they never wait in a circle."""

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
        self.clock = GroupClock(self) if problem.costs.per_lost_s else None
        self.may_lose = True
        # Then one group never costs more than the two that it is made of.
        self.always_pays = not problem.costs.per_lost_s and len(set(problem.image_costs)) <= 1

    def _places(self) -> dict[int, int]:
        order = topological_order([set(self.before[number]) for number in range(len(self.before))])
        return {number: place for place, number in enumerate(order)}

    def run(self, draw: random.Random | None = None) -> list[list[int]]:
        """Merge what can be merged, first what loses no time; return the groups."""
        for may_lose in (True,) if self.clock is None else (False, True):
            self.may_lose = may_lose
            self.contract_edges(draw)
            self.merge_others(draw)
        return list(self.members.values())

    def contract_edges(self, draw: random.Random | None = None) -> None:
        """Merge the ends of edges, first those with the fewest images in common."""
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
        refused: set[int] = set()
        while queue:
            *_, one, other = heapq.heappop(queue)
            if one not in self.members or other not in self.members:
                continue
            if not (other in self.after[one] or other in self.before[one]):
                continue
            if not (self.may_merge(one, other) and self._pays(one, other)):
                refused |= {one, other}
                continue
            kept, absorbed = self._larger_first(one, other)
            mask, fresh = self.mask[kept], {*self.after[absorbed], *self.before[absorbed]}
            self.merge(one, other)
            # The other edges of the larger group are in the queue, but for those that were refused.
            if self.mask[kept] != mask or not refused.isdisjoint((kept, absorbed)):
                fresh = {*self.after[kept], *self.before[kept]}
                refused.discard(kept)
            for near in fresh - {kept}:
                push(kept, near)

    def merge_others(self, draw: random.Random | None = None) -> None:
        """Merge groups that share an image and wait for each other at most directly."""
        levels = self.problem.levels
        depth = {
            number: sum(levels[node] for node in some) / len(some)
            for number, some in self.members.items()
        }
        order = sorted(self.members, key=lambda number: (depth[number], number))
        if draw is not None:
            order.sort(key=lambda number: depth[number] + 2.0 * draw.random())
        for at, number in enumerate(order):
            one = number
            near: Iterable[int] = self.mask.keys()
            if self.clock is not None:  # each partner is tried, so only some of the nearest are
                near = [x for x in order[max(0, at - NEAREST) : at + NEAREST] if x in self.mask]
            while one in self.members:
                partner = self._best_partner(one, depth, near)
                if partner is None:
                    break
                sizes = len(self.members[one]), len(self.members[partner])
                mean = (depth[one] * sizes[0] + depth[partner] * sizes[1]) / sum(sizes)
                one = self.merge(one, partner)
                depth[one] = mean

    def _best_partner(self, one: int, depth: dict[int, float], among: Iterable[int]) -> int | None:
        far = self._far(one) if self.is_ordered else set()
        mask = self.mask[one]
        scored = []
        for other in among:
            images = self.mask.get(other, 0)
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
        if len(self.before[other]) < len(self.after[one]):
            return one not in self._between(self.before, other, one)
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
        lost_s = self.clock.more_lost_s(one, other) if self.clock is not None else 0.0
        if lost_s > 1e-9 and not self.may_lose:
            return False
        costs = self.problem.costs
        weight = self.after[one].get(other, 0.0) + self.before[one].get(other, 0.0)
        image_of, price_of = self.problem.cheapest_image, self.problem.image_costs
        both = price_of[image_of(self.mask[one] & self.mask[other])]
        saved = (costs.inter - costs.intra) * weight - both
        saved += price_of[image_of(self.mask[one])] + price_of[image_of(self.mask[other])]
        return saved - costs.per_lost_s * lost_s >= -1e-9

    def merge(self, one: int, other: int) -> int:
        """Merge two groups that may, and return the number of what they are now."""
        place = self._reorder(one, other) if self.is_ordered else 0
        one, other = self._larger_first(one, other)
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
        if self.clock is not None:
            self.clock.merged(one, other)
        return one

    def _larger_first(self, one: int, other: int) -> tuple[int, int]:
        """Return two groups so that the first, whose number stays, has more to be changed."""
        return (one, other) if self._degree(one) >= self._degree(other) else (other, one)

    def _degree(self, number: int) -> int:
        return len(self.after[number]) + len(self.before[number]) + len(self.members[number])

    def _reorder(self, one: int, other: int) -> int:
        """Return a place for two groups in one, which all that leads to them is moved before."""
        if self.place[one] > self.place[other]:
            one, other = other, one
        if len(self.before[other]) < len(self.after[one]):
            sooner = self._between(self.before, other, one)
            if not sooner:
                del self.place[other]
                return self.place.pop(one)
            later = self._between(self.after, one, other)
        else:
            later = self._between(self.after, one, other)
            if not later:
                del self.place[one]
                return self.place.pop(other)
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


class GroupClock:
    """When groups end, kept up to date while they merge."""

    def __init__(self, groups: Contracting) -> None:
        self.groups = groups
        problem = groups.problem
        self.least_s = longest_path_s(problem)
        self.seconds = {number: self._seconds(some) for number, some in groups.members.items()}
        self.ends: dict[int, float] = {}
        self.tails: dict[int, float] = {}
        self.most_s = 0.0
        self._time()

    def _seconds(self, members: Sequence[int]) -> float:
        problem = self.groups.problem
        is_batch = problem.mode == "batch"
        return group_seconds(problem, members) if is_batch else work_seconds(problem, members)

    def more_lost_s(self, one: int, other: int) -> float:
        """Return the seconds that merging two groups loses; 0 where it saves some."""
        groups, pair = self.groups, {one, other}
        through = self._seconds(groups.members[one] + groups.members[other])
        if groups.is_ordered:
            befores = (groups.before[one].keys() | groups.before[other].keys()) - pair
            afters = (groups.after[one].keys() | groups.after[other].keys()) - pair
            through += max((self.ends[near] for near in befores), default=0.0)
            through += max((self.tails[near] for near in afters), default=0.0)
        return max(0.0, through - max(self.most_s, self.least_s))

    def merged(self, one: int, other: int) -> None:
        """Note that a group has become part of another one."""
        groups = self.groups
        del self.seconds[other]
        self.seconds[one] = self._seconds(groups.members[one])
        if not groups.is_ordered:
            self._time()
            return
        del self.ends[other], self.tails[other]
        ahead = groups.before, groups.after
        for ends, near, is_back in ((self.ends, ahead, False), (self.tails, ahead[::-1], True)):
            changed = (one, *near[1][one])
            update_ends(ends, changed, near, groups.place, self.seconds, is_back=is_back)
        self.most_s = max(self.ends.values(), default=0.0)

    def _time(self) -> None:
        groups, seconds = self.groups, self.seconds
        if not groups.is_ordered:
            self.most_s = max(seconds.values(), default=0.0)
            return
        order = sorted(groups.members, key=groups.place.__getitem__)
        self.ends, self.tails = {}, {}
        for near, found, ordered in (
            (groups.before, self.ends, order),
            (groups.after, self.tails, order[::-1]),
        ):
            for number in ordered:
                longest = max((found[one] for one in near[number]), default=0.0)
                found[number] = longest + seconds[number]
        self.most_s = max(self.ends.values(), default=0.0)
