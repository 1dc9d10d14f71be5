"""Nodes that must share a part, contracted to one block each."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property

from couler.optimizers.partitioning.budget import Budget
from couler.optimizers.partitioning.circles import (
    quotient_edges,
    strong_components,
    topological_order,
)
from couler.optimizers.partitioning.model import TaskGraph, over_budget


class Blocks:
    """What is never cut, numbered in a topological order."""

    def __init__(self, graph: TaskGraph, budget: Budget) -> None:
        self.graph = graph
        self.budget = budget
        count = len(graph.names)
        group_of = list(range(count))
        if graph.together:
            from networkx.utils import UnionFind

            united = UnionFind(range(count))
            for nodes in graph.together:
                united.union(*nodes)
            group_of = [united[node] for node in range(count)]
            circle_of = strong_components(quotient_edges(graph.predecessors, group_of, count))
            numbers: dict[int, int] = {}
            group_of = [numbers.setdefault(circle_of[group], len(numbers)) for group in group_of]
            count = len(numbers)
        between = quotient_edges(graph.predecessors, group_of, count)
        rank = [0] * count
        for index, group in enumerate(topological_order(between)):
            rank[group] = index
        members: list[list[int]] = [[] for _ in range(count)]
        before: list[tuple[int, ...]] = [()] * count
        after: list[list[int]] = [[] for _ in range(count)]
        for node, group in enumerate(group_of):
            members[rank[group]].append(node)
        for group, befores in enumerate(between):
            before[rank[group]] = tuple(sorted(rank[one] for one in befores))
        for block, ranks in enumerate(before):
            for one in ranks:
                after[one].append(block)
        self.members = tuple(map(tuple, members))
        self.before = tuple(before)
        self.after = tuple(map(tuple, after))
        self.own = tuple(sum(budget.of_node[node] for node in nodes) for nodes in self.members)
        for nodes, own in zip(self.members, self.own, strict=True):
            if not budget.fits(budget.part + own):
                inside = "" if len(nodes) == 1 else " in sum, and must stay in one part"
                excess = budget.excess(budget.part + own)
                raise over_budget(graph, nodes, excess + inside, excess)
        self.costs = tuple(map(self._load_of_nodes, self.members)) if budget.cut else self.own
        self.seconds = tuple(map(self._seconds, self.members))

    @cached_property
    def shares(self) -> list[float]:
        """What share of a part each block takes, in the scarcest dimension."""
        return self.budget.shares(self.own)

    @cached_property
    def before_weights(self) -> tuple[tuple[float, ...], ...]:
        """What cutting each edge of `before` weighs: half by their number, half by their bytes."""
        edge_bytes = self.graph.edge_bytes
        total = sum(edge_bytes.values())
        if not total:
            return tuple((1.0,) * len(befores) for befores in self.before)
        edges = sum(map(len, self.before))
        block_of = [0] * len(self.graph.names)
        for block, nodes in enumerate(self.members):
            for node in nodes:
                block_of[node] = block
        between: dict[tuple[int, int], int] = {}
        for (one, other), size in edge_bytes.items():
            edge = (block_of[one], block_of[other])
            between[edge] = between.get(edge, 0) + size
        return tuple(
            tuple(0.5 + 0.5 * edges * between.get((one, block), 0) / total for one in befores)
            for block, befores in enumerate(self.before)
        )

    @cached_property
    def weight(self) -> float:
        """What cutting all edges weighs."""
        return sum(map(sum, self.before_weights))

    @cached_property
    def after_weights(self) -> tuple[tuple[float, ...], ...]:
        """The same for each edge of `after`."""
        found: list[list[float]] = [[] for _ in self.after]
        for befores, weights in zip(self.before, self.before_weights, strict=True):
            for one, weight in zip(befores, weights, strict=True):
                found[one].append(weight)
        return tuple(map(tuple, found))

    def load(self, inside: Sequence[int]) -> int:
        """Return the packed cost of blocks that share a part, without the part's own."""
        if not self.budget.cut:
            return sum([self.own[block] for block in inside])
        if len(inside) == 1:
            return self.costs[inside[0]]
        return self._load_of_nodes([node for block in inside for node in self.members[block]])

    def spread(self, parts: Sequence[Sequence[int]]) -> list[int]:
        """Return the part of each node, from the blocks of each part."""
        found = [0] * len(self.graph.names)
        for part, inside in enumerate(parts):
            for block in inside:
                for node in self.members[block]:
                    found[node] = part
        return found

    def _load_of_nodes(self, nodes: Sequence[int]) -> int:
        predecessors, successors = self.graph.predecessors, self.graph.successors
        among = set(nodes)
        read = {one for node in nodes for one in predecessors[node]} - among
        given = sum(not among.issuperset(successors[node]) for node in nodes)
        own = sum([self.budget.of_node[node] for node in nodes])
        return own + self.budget.cut * (len(read) + given)

    def _seconds(self, nodes: Sequence[int]) -> float:
        if len(nodes) == 1:
            return self.graph.seconds[nodes[0]]
        end: dict[int, float] = {}
        for node in sorted(nodes, key=self.graph.rank.__getitem__):
            befores = self.graph.predecessors[node]
            began = max((end[one] for one in befores if one in end), default=0.0)
            end[node] = began + self.graph.seconds[node]
        return max(end.values())
