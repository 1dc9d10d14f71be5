"""Measures of a partition: cut, loads, start times, makespan."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence

from couler.optimizers.partitioning.budget import Budget, part_loads
from couler.optimizers.partitioning.circles import quotient_edges, topological_order
from couler.optimizers.partitioning.model import Partition, TaskGraph


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


def makespan(graph: TaskGraph, partition: Partition) -> float:
    """Return the seconds of a run in which a part starts when all parts before it are complete."""
    paths = [(part,) for part in partition.part_of] if partition.count > 1 else None
    starts = start_times(graph.predecessors, graph.seconds, paths)
    ends = (start + takes for start, takes in zip(starts, graph.seconds, strict=True))
    return max(ends, default=0.0)


def start_times(
    predecessors: Sequence[Sequence[int]],
    seconds: Sequence[float],
    paths: Sequence[Sequence[Hashable]] | None = None,
) -> list[float]:
    """Return when each node starts on any number of workers, in seconds from the start of a run."""
    # Argo Workflows, the DAG template: a task starts when all tasks that it depends on have ended,
    # and a task that calls a DAG ends with the last task of that.
    count = len(seconds)
    before = [list(befores) for befores in predecessors]
    if paths is not None and any(paths):
        before += _with_parts(before, paths)
    starts = [0.0] * len(before)
    takes = [*seconds, *(0.0 for _ in range(count, len(before)))]
    after: list[list[int]] = [[] for _ in before]
    for node, befores in enumerate(before):
        for one in befores:
            after[one].append(node)
    waiting = list(map(len, before))
    order = [node for node, left in enumerate(waiting) if not left]
    for node in order:  # grows while it is read: a queue
        end = starts[node] + takes[node]
        for one in after[node]:
            if end > starts[one]:
                starts[one] = end
            waiting[one] -= 1
            if not waiting[one]:
                order.append(one)
    if len(order) < len(before):
        raise ValueError("nodes or parts wait for each other in a circle")
    return starts[:count]


def _with_parts(before: list[list[int]], paths: Sequence[Sequence[Hashable]]) -> list[list[int]]:
    """Return what the starts and ends of parts wait for; edges across parts then lead there."""
    count = len(before)
    parts: list[list[int]] = []
    number: dict[tuple[Hashable, ...], int] = {}
    around: list[list[int]] = []
    """For each node the starts of the parts that it is in."""
    for node, path in enumerate(paths):
        starts: list[int] = []
        for depth in range(len(path)):
            key = tuple(path[: depth + 1])
            start = number.get(key)
            if start is None:
                start = number[key] = count + len(parts)
                parts += [starts[-1:], [start]]
                if starts:
                    parts[starts[-1] + 1 - count].append(start + 1)
            starts.append(start)
        if starts:
            parts[starts[-1] + 1 - count].append(node)
        around.append(starts)
    for node, befores in enumerate(before):
        mine = around[node]
        inside = mine[-1:]
        for one in befores:
            theirs = around[one]
            depth = 0
            while depth < min(len(mine), len(theirs)) and mine[depth] == theirs[depth]:
                depth += 1
            source = theirs[depth] + 1 if depth < len(theirs) else one
            if depth < len(mine):
                parts[mine[depth] - count].append(source)
            else:
                inside.append(source)
        before[node] = inside
    return parts
