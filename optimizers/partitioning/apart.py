"""Nodes that are parts by themselves, whatever parts were made around them."""

from __future__ import annotations

from collections.abc import Set as AbstractSet

from couler.optimizers.partitioning.model import Partition, TaskGraph


def set_apart(graph: TaskGraph, partition: Partition, nodes: AbstractSet[int]) -> Partition:
    """Return a partition in which each of some nodes is a part by itself.

    What is left of a part is one part still, or several where some of it comes before one of these
    nodes and some behind it.

    Parameters
    ----------
    graph, partition
        What was put into parts, and how; no parts wait for each other in a circle.
    nodes
        Those that are taken out of their parts.

    Notes
    -----
    O(n log n + m). The nodes of a part are told apart by the most of those nodes on a path to them
    within it. Along an edge neither the part nor, in one part, that number falls, and behind one
    of those nodes it rises: so the quotient has no circle.

    Examples
    --------
    >>> graph = TaskGraph(("a", "b", "c", "d"), ((), (0,), (1,), (0,)), {}, (1.0,) * 4)
    >>> set_apart(graph, Partition((0, 0, 0, 0), 1), {1}).part_of
    (0, 1, 2, 0)
    """
    part_of = partition.part_of
    behind = [0] * len(part_of)
    keys: list[tuple[int, int, int]] = [(0, 0, 0)] * len(part_of)
    for node in graph.order:
        behind[node] = max(
            (
                behind[one] + (one in nodes)
                for one in graph.predecessors[node]
                if part_of[one] == part_of[node]
            ),
            default=0,
        )
        keys[node] = (part_of[node], behind[node], node + 1 if node in nodes else 0)
    number = {key: part for part, key in enumerate(sorted(set(keys)))}
    return Partition(tuple(number[key] for key in keys), len(number))
