"""Costs of several dimensions as one integer, so that adding and comparing them is cheap."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from couler.optimizers.partitioning.model import TaskGraph


class Budget:
    """What a part may cost, in each dimension that has a limit."""

    def __init__(
        self,
        graph: TaskGraph,
        limits: Mapping[str, int],
        part_overhead: Mapping[str, int],
        cut_overhead: Mapping[str, int],
    ) -> None:
        self.names = tuple(limits)
        self.limits = tuple(limits.values())
        self.part_overhead = tuple(part_overhead.get(name, 0) for name in self.names)
        self.cut_overhead = tuple(cut_overhead.get(name, 0) for name in self.names)
        count = len(graph.names)
        crossings = count + sum(map(len, graph.predecessors))
        most = [
            limit + sum(graph.costs[name]) + count * part + crossings * cut
            for name, limit, part, cut in zip(
                self.names, self.limits, self.part_overhead, self.cut_overhead, strict=True
            )
        ]
        self._width = max(most, default=0).bit_length() + 1
        self._mask = (1 << self._width) - 1
        self._shifts = [index * self._width for index in range(len(self.names))]
        self._rooms = [
            max(limit - part, 1)
            for limit, part in zip(self.limits, self.part_overhead, strict=True)
        ]
        self._guards = self._pack([1 << (self._width - 1)] * len(self.names))
        self._most = self._pack(self.limits) | self._guards
        self.part = self._pack(self.part_overhead)
        """Packed cost of a part without nodes."""
        self.cut = self._pack(self.cut_overhead)
        """Packed cost of one crossing at one of its ends."""
        self.of_node = [
            self._pack(costs)
            for costs in zip(*(graph.costs[name] for name in self.names), strict=True)
        ] or [0] * count
        """Packed cost of each node by itself."""

    def fits(self, load: int) -> bool:
        """Return whether a packed cost keeps every limit."""
        return (self._most - load) & self._guards == self._guards

    def shares(self, loads: Sequence[int]) -> list[float]:
        """Return what share of a part each of several packed costs takes."""
        if not self.names:
            return [0.0] * len(loads)
        total = sum(loads)
        taken = [total >> shift & self._mask for shift in self._shifts]
        scarcest = max(range(len(taken)), key=lambda one: taken[one] / self._rooms[one])
        shift, room = self._shifts[scarcest], self._rooms[scarcest]
        return [(load >> shift & self._mask) / room for load in loads]

    def least_parts(self, loads: Sequence[int]) -> int:
        """Return how many parts the sum of packed costs needs at least."""
        total = sum(loads)
        return max(
            (
                -(-(total >> shift & self._mask) // room)
                for shift, room in zip(self._shifts, self._rooms, strict=True)
            ),
            default=1,
        )

    def least(self, loads: Sequence[int]) -> int:
        """Return the packed cost that is the least of several in each dimension."""
        return self._pack(
            [
                min((load >> shift & self._mask for load in loads), default=0)
                for shift in self._shifts
            ]
        )

    def unpacked(self, load: int) -> dict[str, int]:
        """Return a packed cost by dimension."""
        mask = (1 << self._width) - 1
        return {name: load >> (index * self._width) & mask for index, name in enumerate(self.names)}

    def excess(self, load: int) -> str:
        """Return in words what a packed cost has over the limits."""
        over = [
            f"{cost:,} {name} are over the budget of {limit:,}"
            for (name, cost), limit in zip(self.unpacked(load).items(), self.limits, strict=True)
            if cost > limit
        ]
        return " and ".join(over)

    def _pack(self, costs: Sequence[int]) -> int:
        packed = 0
        for cost in reversed(costs):
            packed = packed << self._width | cost
        return packed


def crossings(
    graph: TaskGraph, part_of: Sequence[int], nodes: Iterable[int] | None = None
) -> list[tuple[int, int]]:
    """Return each pair of a node and another part that reads it, once, by node and part."""
    among = range(len(graph.names)) if nodes is None else nodes
    return [
        (node, part)
        for node in among
        for part in sorted({part_of[after] for after in graph.successors[node]} - {part_of[node]})
    ]


def part_loads(graph: TaskGraph, budget: Budget, part_of: Sequence[int], count: int) -> list[int]:
    """Return the packed cost of each part: its nodes, itself, and what crosses; O(n + m)."""
    loads = [budget.part] * count
    for node, part in enumerate(part_of):
        loads[part] += budget.of_node[node]
    if budget.cut:
        given = -1
        for node, reader in crossings(graph, part_of):
            loads[reader] += budget.cut
            if node != given:
                loads[part_of[node]] += budget.cut
                given = node
    return loads
