"""What is put into parts, and the parts: integers in, integers out."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property

from couler.errors import BudgetError


@dataclass(frozen=True)
class TaskGraph:
    """A directed acyclic graph of n nodes, `0` to `n - 1`, in program order."""

    names: tuple[str, ...]
    predecessors: tuple[tuple[int, ...], ...]
    costs: Mapping[str, tuple[int, ...]]
    seconds: tuple[float, ...]
    edge_bytes: Mapping[tuple[int, int], int] = field(default_factory=dict)
    together: tuple[tuple[int, ...], ...] = ()

    @cached_property
    def successors(self) -> tuple[tuple[int, ...], ...]:
        """For each node those that wait for it, in program order, each once."""
        after: list[list[int]] = [[] for _ in self.names]
        for node, befores in enumerate(self.predecessors):
            for before in set(befores) if len(befores) > 1 else befores:
                after[before].append(node)
        return tuple(map(tuple, after))

    @cached_property
    def order(self) -> tuple[int, ...]:
        """The nodes in a topological order, breadth first; those behind a cycle are left out."""
        waiting = [len(set(befores)) for befores in self.predecessors]
        order = [node for node, count in enumerate(waiting) if not count]
        for node in order:  # grows while it is read: a queue
            for after in self.successors[node]:
                waiting[after] -= 1
                if not waiting[after]:
                    order.append(after)
        return tuple(order)

    @cached_property
    def rank(self) -> tuple[int, ...]:
        """For each node its position in `order`."""
        found = [0] * len(self.order)
        for index, node in enumerate(self.order):
            found[node] = index
        return tuple(found)


@dataclass(frozen=True)
class Partition:
    """A part for each node."""

    part_of: tuple[int, ...]
    count: int

    @cached_property
    def parts(self) -> tuple[tuple[int, ...], ...]:
        """The nodes of each part, in program order."""
        found: list[list[int]] = [[] for _ in range(self.count)]
        for node, part in enumerate(self.part_of):
            found[part].append(node)
        return tuple(map(tuple, found))


def over_budget(
    graph: TaskGraph, nodes: tuple[int, ...], what: str, excess: str = ""
) -> BudgetError:
    """Return the error that names some nodes."""
    names = tuple(graph.names[node] for node in nodes)
    shown = ", ".join(map(repr, names[:5])) + (f" and {len(names) - 5} more" * (len(names) > 5))
    return BudgetError(f"{shown}: {what}", nodes=names, excess=excess)
