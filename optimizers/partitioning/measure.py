"""What a partition is like: its quotient, its cut, its makespan, and how few parts there can be."""

from __future__ import annotations

import bisect
import itertools
from collections.abc import Mapping

from couler.optimizers.partitioning.budget import Budget, part_loads
from couler.optimizers.partitioning.circles import quotient_edges, topological_order
from couler.optimizers.partitioning.model import Partition, TaskGraph
from couler.optimizers.partitioning.starting import start_times


def quotient(graph: TaskGraph, partition: Partition) -> tuple[tuple[int, ...], ...]:
    """Return for each part the other parts that it waits for, in O(n + m)."""
    before = quotient_edges(graph.predecessors, partition.part_of, partition.count)
    return tuple(tuple(sorted(befores)) for befores in before)


def is_acyclic(graph: TaskGraph, partition: Partition) -> bool:
    """Return whether no parts wait for each other in a circle, in O(n + m)."""
    before = quotient_edges(graph.predecessors, partition.part_of, partition.count)
    return len(topological_order(before)) == partition.count


def cut_edges(graph: TaskGraph, partition: Partition) -> tuple[tuple[int, int], ...]:
    """Return the edges between parts as `(before, after)`, by their end; O(n + m)."""
    part_of = partition.part_of
    return tuple(
        (before, node)
        for node, befores in enumerate(graph.predecessors)
        for before in sorted(set(befores))
        if part_of[before] != part_of[node]
    )


def cut_bytes(graph: TaskGraph, partition: Partition) -> int:
    """Return the data that travels between parts, in bytes; O(n + m)."""
    return sum(graph.edge_bytes.get(edge, 0) for edge in cut_edges(graph, partition))


def loads(
    graph: TaskGraph,
    partition: Partition,
    *,
    part_overhead: Mapping[str, int] | None = None,
    cut_overhead: Mapping[str, int] | None = None,
) -> dict[str, tuple[int, ...]]:
    """Return for each dimension what each part costs, its overheads included; O(n + m)."""
    # A limit that nothing exceeds: only the sums are asked for.
    limits = {name: sum(cost) + 1 for name, cost in graph.costs.items()}
    budget = Budget(graph, limits, part_overhead or {}, cut_overhead or {})
    packed = part_loads(graph, budget, partition.part_of, partition.count)
    by_part = [budget.unpacked(load) for load in packed]
    return {name: tuple(load[name] for load in by_part) for name in graph.costs}


def lower_bound(
    graph: TaskGraph,
    budget: Mapping[str, int],
    *,
    part_overhead: Mapping[str, int] | None = None,
) -> int:
    """Return how many parts any partition within the budget has at least."""
    # S. Martello, P. Toth: Knapsack Problems (1990), section 8.3.
    checked = Budget(graph, budget, part_overhead or {}, {})
    most = min(1, len(graph.names))
    for name, limit, overhead in zip(
        checked.names, checked.limits, checked.part_overhead, strict=True
    ):
        most = max(most, _bins(sorted(graph.costs[name]), limit - overhead))
    return most


def _bins(sizes: list[int], room: int) -> int:
    """Return the bound L2 for sizes in rising order."""
    if not sizes or sizes[-1] > room:
        return len(sizes[:1])
    upto = [0, *itertools.accumulate(sizes)]
    half = bisect.bisect_right(sizes, room // 2)
    most = 0
    for least in {0, *sizes[:half]}:
        # Alone in their bins; one to a bin, with room left; and what must go there or elsewhere.
        alone = bisect.bisect_right(sizes, room - least)
        large = max(alone - half, 0)
        left = large * room - (upto[alone] - upto[half]) if large else 0
        small = upto[half] - upto[bisect.bisect_left(sizes, least)]
        more = -(-(small - left) // room) if small > left else 0
        most = max(most, len(sizes) - alone + large + more)
    return most


def makespan(graph: TaskGraph, partition: Partition) -> float:
    """Return the seconds of a run in which a part starts when all parts before it are complete."""
    paths = [(part,) for part in partition.part_of] if partition.count > 1 else None
    starts = start_times(graph.predecessors, graph.seconds, paths)
    ends = (start + takes for start, takes in zip(starts, graph.seconds, strict=True))
    return max(ends, default=0.0)
