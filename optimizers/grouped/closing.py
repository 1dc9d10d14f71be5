"""Sets of steps that can become one step without any run coming to something else.

Such a set is *closed*:

- each step of it waits, directly or through others of it, for all that any of it waits for outside:
  so none has begun when what is outside fails, as none of the one step has;
- one step of it, the *exit*, is all that others wait for or read, and all steps of it lead there;
  or there is no such step, and nothing outside waits for or reads any of it: so whatever fails of
  it, others see the one step fail as they would have seen its exit fail or be omitted.

A closed set is convex: a path that left it would begin at the exit, to which all of it leads. Two
closed sets never wait for each other: all of one waits for all that it waits for outside.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from couler.ir.graph import Graph

__all__ = ["closed_sets", "is_closed"]


_MOST_LOOKS = 200_000
"""After so many looks at steps, no more sets of steps to wait for are tried for an exit."""


def closed_sets(graph: Graph, among: Iterable[str], read: frozenset[str]) -> list[tuple[str, ...]]:
    """Return disjoint closed sets of two steps or more, each in a topological order.

    Parameters
    ----------
    graph
        The scope.
    among
        The steps that may be in a set.
    read
        Those that are read from outside of the scope.

    Notes
    -----
    For an exit there is one largest set of steps that lead to it alone; within it, for each set of
    steps to wait for, one largest closed set: what is no member of it takes others out with it,
    until nothing changes. First come sets without an exit, and then from the last exit to the first
    the largest set of each, so that a step is in the set of the latest exit that it can be. Each
    set to wait for takes the time of the steps behind it, O(n (n + m)) at worst for all of an exit
    with n steps before it and m edges; where that is much, the first ones are tried.

    Examples
    --------
    >>> diamond = Graph({"a": (), "b": ("a",), "c": ("a",), "d": ("b", "c"), "e": ("d",)})
    >>> closed_sets(diamond, "abcd", frozenset())
    [('a', 'b', 'c', 'd')]
    >>> closed_sets(diamond, "abc", frozenset())
    []
    """
    return _Search(graph, among, read).run()


def is_closed(graph: Graph, members: Sequence[str], read: frozenset[str]) -> bool:
    """Return whether a set of steps, given in a topological order, is closed."""
    inside = set(members)
    ends = [
        name for name in members if name in read or not inside.issuperset(graph.successors[name])
    ]
    if len(ends) > 1:
        return False
    stops = [name for name in members if inside.isdisjoint(graph.successors[name])]
    if ends and stops != ends:
        return False
    waits = frozenset(
        before for name in members for before in graph.predecessors[name] if before not in inside
    )
    found: set[str] = set()
    for name in members:
        if _enters(graph, name, waits, found):
            found.add(name)
    return found == inside


class _Search:
    def __init__(self, graph: Graph, among: Iterable[str], read: frozenset[str]) -> None:
        self.graph, self.read = graph, read
        self.place = {name: number for number, name in enumerate(graph.topological_order)}
        self.free = set(among)
        self.looks = 0

    def run(self) -> list[tuple[str, ...]]:
        found = []
        ends = sorted(self.free, key=self.place.__getitem__, reverse=True)
        while len(best := self._largest(None)) > 1:
            found.append(best)
            self.free.difference_update(best)
        for end in ends:
            if end in self.free and len(best := self._largest(end)) > 1:
                found.append(best)
                self.free.difference_update(best)
        return found

    def _largest(self, end: str | None) -> tuple[str, ...]:
        """Return the largest closed set with some exit, or with none."""
        start = self._leading_to(end)
        if len(start) < 2:
            return ()
        entries: dict[frozenset[str], list[str]] = {}
        for name in sorted(start, key=self.place.__getitem__):
            entries.setdefault(frozenset(self.graph.predecessors[name]), []).append(name)
        best: list[str] = []
        self.looks = 0
        for waits, first in entries.items():
            inside = self._closed(waits, first, start, end)
            if len(inside) > len(best):
                best = inside
            if len(best) == len(start) or self.looks > _MOST_LOOKS:
                break
        return tuple(best)

    def _leading_to(self, end: str | None) -> set[str]:
        """Return the steps that lead to an exit alone; without one, to the end of the scope."""
        graph = self.graph
        if end is not None:
            inside, waiting = {end}, [end]
        else:
            waiting = [
                one for one in self.free if not graph.successors[one] and one not in self.read
            ]
            inside = set(waiting)
        for name in waiting:  # grows while it is read: a queue
            for before in graph.predecessors[name]:
                if before not in self.free or before in inside or before in self.read:
                    continue
                if inside.issuperset(graph.successors[before]):
                    inside.add(before)
                    waiting.append(before)
        return inside

    def _closed(
        self, waits: frozenset[str], first: list[str], among: set[str], end: str | None
    ) -> list[str]:
        """Return the largest closed set that waits for some steps; in a topological order."""
        graph = self.graph
        while True:
            inside, waiting = set(first), list(first)
            for name in waiting:
                for after in graph.successors[name]:
                    if after not in among or after in inside:
                        continue
                    if all(one in inside or one in waits for one in graph.predecessors[after]):
                        inside.add(after)
                        waiting.append(after)
            self.looks += len(inside)
            kept = set[str]()
            for name in sorted(inside, key=self.place.__getitem__, reverse=True):
                behind = graph.successors[name]
                if name == end or ((behind or end is None) and kept.issuperset(behind)):
                    kept.add(name)
            if len(kept) == len(inside):
                return sorted(kept, key=self.place.__getitem__)
            among, first = kept, [name for name in first if name in kept]


def _enters(graph: Graph, name: str, waits: frozenset[str], found: set[str]) -> bool:
    """Return whether a step waits for all of some, by itself or through those found so far."""
    befores = graph.predecessors[name]
    if set(befores) == waits:
        return True
    is_behind = any(one in found for one in befores)
    return is_behind and all(one in found or one in waits for one in befores)
