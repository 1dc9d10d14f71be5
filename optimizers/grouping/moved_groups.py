"""Groups between which operators move, of which the last move can be undone."""

from __future__ import annotations

import abc
from collections.abc import Callable, Iterable, Sequence

from couler.optimizers.grouping.problem import Problem
from couler.optimizers.grouping.timing import lost_seconds

__all__ = ["Groups", "MixedGroups"]


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
