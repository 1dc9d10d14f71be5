"""Sets of steps that can become one step without any run coming to something else."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from couler.ir.graph import Graph

__all__ = ["closed_sets", "is_closed"]


_MOST_LOOKS = 200_000
"""After so many looks at steps, no more sets of steps to wait for are tried for an exit."""


_MOST_BELOW = 2_000_000
"""After so many looks at steps behind exits, others are taken to wait for no exit of which it is
not plain."""


def closed_sets(
    graph: Graph,
    among: Iterable[str],
    read: frozenset[str],
    apart: frozenset[str] = frozenset(),
) -> list[tuple[str, ...]]:
    """Return disjoint closed sets of two steps or more, each in a topological order."""
    return _Search(graph, among, read, _Below(graph, apart)).run()


def is_closed(
    graph: Graph,
    members: Sequence[str],
    read: frozenset[str],
    apart: frozenset[str] = frozenset(),
) -> bool:
    """Return whether a set of steps, given in a topological order, is closed."""
    inside = set(members)
    shown = [
        name for name in members if name in read or not inside.issuperset(graph.successors[name])
    ]
    stops = [name for name in members if inside.isdisjoint(graph.successors[name])]
    if shown and len(stops) > 1:
        return False
    if shown:
        below = _Below(graph, apart).of(stops[0])
        for name in shown:
            if name == stops[0]:
                continue
            if name in read or not below.issuperset(set(graph.successors[name]) - inside):
                return False
    waits = frozenset(
        before for name in members for before in graph.predecessors[name] if before not in inside
    )
    found: set[str] = set()
    for name in members:
        if _enters(graph, name, waits, found):
            found.add(name)
    return found == inside


class _Below:
    """Finds the steps that run only if another one has succeeded, as they wait for that."""

    def __init__(self, graph: Graph, apart: frozenset[str]) -> None:
        self.graph, self.apart = graph, apart
        self.looks = 0

    def of(self, end: str) -> set[str]:
        """Return those that wait for one step, directly or through others, to succeed."""
        found: set[str] = set()
        if self.looks > _MOST_BELOW:
            return found
        waiting = [end]
        for name in waiting:  # grows while it is read: a queue
            if name in self.apart:  # who waits for its end need not wait for its success
                continue
            for after in self.graph.successors[name]:
                if after not in found:
                    found.add(after)
                    waiting.append(after)
        self.looks += len(waiting)
        return found


class _Search:
    def __init__(
        self, graph: Graph, among: Iterable[str], read: frozenset[str], below: _Below
    ) -> None:
        self.graph, self.read, self.below = graph, read, below
        self.place = graph.places
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
        below = set[str]() if end is None else self.below.of(end)
        start = self._leading_to(end, below)
        if len(start) < 2:
            return ()
        entries: dict[frozenset[str], list[str]] = {}
        for name in sorted(start, key=self.place.__getitem__):
            entries.setdefault(frozenset(self.graph.predecessors[name]), []).append(name)
        best: list[str] = []
        self.looks = 0
        for waits, first in entries.items():
            inside = self._closed(waits, first, start, end, below)
            if len(inside) > len(best):
                best = inside
            if len(best) == len(start) or self.looks > _MOST_LOOKS:
                break
        return tuple(best)

    def _leading_to(self, end: str | None, below: set[str]) -> set[str]:
        """Return the steps that lead to an exit, and else to what is below it alone."""
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
                if all(after in inside or after in below for after in graph.successors[before]):
                    inside.add(before)
                    waiting.append(before)
        return inside

    def _closed(
        self,
        waits: frozenset[str],
        first: list[str],
        among: set[str],
        end: str | None,
        below: set[str],
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
                leads = end is None or not kept.isdisjoint(behind)
                if name == end or (leads and all(one in kept or one in below for one in behind)):
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
