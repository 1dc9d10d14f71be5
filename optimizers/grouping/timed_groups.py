"""Groups that change a little at a time, undo of a move, circles among them, and when they end."""

from __future__ import annotations

import abc
import heapq
import typing as t
from collections.abc import Callable, Iterable, Mapping, Sequence

from couler.optimizers.grouping.problem import Problem
from couler.optimizers.grouping.solution import group_seconds, longest_path_s, lost_seconds
from couler.optimizers.partitioning.circles import topological_order


class Groups(abc.ABC):
    """Groups by numbers, of a problem."""

    def __init__(self, problem: Problem, groups: Iterable[Sequence[int]]) -> None:
        self.problem = problem
        self.members = [list(some) for some in groups]
        self.group_of = [0] * len(problem.operators)
        for number, some in enumerate(self.members):
            for node in some:
                self.group_of[node] = number
        self._undo: list[Callable[[], object]] = []

    @property
    @abc.abstractmethod
    def lost_s(self) -> float:
        """The seconds that are lost as less runs in parallel; 0 where they cost nothing."""

    def move(self, nodes: Sequence[int], group: int) -> bool:
        """Move operators to a group, unless groups must not be so; whether they did."""
        self._undo = []
        for node in nodes:
            if self.group_of[node] != group:
                self._put(node, group)
        return True

    def take_back(self) -> None:
        """Undo the last move."""
        while self._undo:
            self._undo.pop()()

    def _put(self, node: int, group: int) -> None:
        home = self.group_of[node]
        at = self.members[home].index(node)
        del self.members[home][at]
        self.members[group].append(node)
        self._assign(node, group)

        def back() -> None:
            self._assign(node, home)
            self.members[group].remove(node)
            self.members[home].insert(at, node)

        self._undo.append(back)

    def _assign(self, node: int, group: int) -> None:
        """Note to which group an operator belongs."""
        self.group_of[node] = group


class MixedGroups(Groups):
    """Groups of a problem in streaming mode, which may wait for each other: no move is refused."""

    @property
    def lost_s(self) -> float:
        """The seconds that are lost as less runs in parallel; 0 where they cost nothing."""
        if not self.problem.costs.per_lost_s:
            return 0.0
        return lost_seconds(self.problem, self.group_of, self.members)


_Near: t.TypeAlias = Mapping[int, Mapping[int, object]]


def update_ends(
    ends: dict[int, float],
    changed: Iterable[int],
    near: tuple[_Near, _Near],
    place: Mapping[int, int],
    seconds: Mapping[int, float],
    *,
    is_back: bool = False,
) -> dict[int, float | None]:
    """Bring the times at which groups end up to date, and return what they were."""
    befores, afters = near
    sign = -1 if is_back else 1
    queue = [(sign * place[number], number) for number in set(changed)]
    heapq.heapify(queue)
    queued = {number for _, number in queue}
    found: dict[int, float | None] = {}
    while queue:
        number = heapq.heappop(queue)[1]
        start = 0.0
        for one in befores[number]:
            if ends[one] > start:
                start = ends[one]
        end, was = start + seconds[number], ends.get(number)
        if end == was:
            continue
        found[number] = was
        ends[number] = end
        for one in afters[number]:
            if one not in queued:
                queued.add(one)
                heapq.heappush(queue, (sign * place[one], one))
    return found


class TimedGroups(Groups):
    """Groups of a problem in batch mode, which must not wait for each other in a circle."""

    def __init__(self, problem: Problem, groups: Iterable[Sequence[int]]) -> None:
        super().__init__(problem, groups)
        self._numbers = range(len(self.members))
        self._before: dict[int, dict[int, int]] = {number: {} for number in self._numbers}
        """How many edges lead to each group from each other one."""
        self._after: dict[int, dict[int, int]] = {number: {} for number in self._numbers}
        for before, after, _ in problem.pairs:
            self._count(self.group_of[before], self.group_of[after], 1)
        order = topological_order([set(self._before[number]) for number in self._numbers])
        self._place = {number: place for place, number in enumerate(order)}
        self._is_timed = problem.costs.per_lost_s > 0
        self._least_s = longest_path_s(problem) if self._is_timed else 0.0
        self._seconds: dict[int, float] = {}
        self._ends: dict[int, float] = {}
        if self._is_timed:
            for number in self._numbers:
                self._seconds[number] = group_seconds(problem, self.members[number])
            self._update(self._numbers)

    @property
    def lost_s(self) -> float:
        """The seconds that are lost as less runs in parallel; 0 where they cost nothing."""
        if not self._is_timed:
            return 0.0
        # A heap of those that change was measured to take as long as one look at all of them.
        return max(0.0, max(self._ends.values(), default=0.0) - self._least_s)

    def move(self, nodes: Sequence[int], group: int) -> bool:
        """Move operators to a group, unless groups then wait in a circle; whether they did."""
        homes = dict.fromkeys(self.group_of[node] for node in nodes)
        behind = {after for home in (*homes, group) for after in self._after[home]}
        super().move(nodes, group)
        if not self._reorder(group):
            self.take_back()
            return False
        if self._is_timed:
            seconds: dict[int, float] = {}
            for number in {*homes, group}:
                seconds[number] = self._seconds[number]
                self._seconds[number] = group_seconds(self.problem, self.members[number])
            self._undo.append(lambda: self._seconds.update(seconds))
            behind.update((*homes, group), self._after[group])
            was_at = self._update(behind)
            self._undo.append(lambda: self._ends.update(was_at))
        return True

    def _update(self, changed: Iterable[int]) -> dict[int, float]:
        near = self._before, self._after
        found = update_ends(self._ends, changed, near, self._place, self._seconds)
        return {number: was for number, was in found.items() if was is not None}

    def _assign(self, node: int, group: int) -> None:
        """Note to which group an operator belongs, and so its edges."""
        home = self.group_of[node]
        for before in self.problem.predecessors[node]:
            self._count(self.group_of[before], home, -1)
            self._count(self.group_of[before], group, 1)
        for after in self.problem.successors[node]:
            self._count(home, self.group_of[after], -1)
            self._count(group, self.group_of[after], 1)
        super()._assign(node, group)

    def _count(self, one: int, other: int, more: int) -> None:
        if one == other:
            return
        count = self._after[one].get(other, 0) + more
        if count:
            self._after[one][other] = self._before[other][one] = count
        else:
            del self._after[one][other], self._before[other][one]

    def _reorder(self, group: int) -> bool:
        """Put a group behind all that it waits for and before the rest; whether that can be."""
        place = self._place
        low = min([place[one] for one in self._after[group]], default=place[group])
        high = max([place[one] for one in self._before[group]], default=place[group])
        if high <= place[group] <= low:
            return True
        low, high = min(low, place[group]), max(high, place[group])
        later = self._reached(group, self._after, low, high)
        sooner = self._reached(group, self._before, low, high)
        if not later.isdisjoint(sooner):
            return False
        moved = [
            *sorted(sooner, key=place.__getitem__),
            group,
            *sorted(later, key=place.__getitem__),
        ]
        places = sorted(place[number] for number in moved)
        was = {number: place[number] for number in moved}
        place.update(zip(moved, places, strict=True))
        self._undo.append(lambda: place.update(was))
        return True

    def _reached(
        self, group: int, near: Mapping[int, Mapping[int, int]], low: int, high: int
    ) -> set[int]:
        """Return what is reached from a group within some places, itself left out."""
        place = self._place
        found: set[int] = set()
        stack = [group]
        while stack:
            for one in near[stack.pop()]:
                if one != group and one not in found and low <= place[one] <= high:
                    found.add(one)
                    stack.append(one)
        return found
