"""Nodes that are parts by themselves, whatever parts were made around them."""

from __future__ import annotations

from collections.abc import Set as AbstractSet

from couler.optimizers.partitioning.model import Partition, TaskGraph


def set_apart(graph: TaskGraph, partition: Partition, nodes: AbstractSet[int]) -> Partition:
    """Return a partition in which each of some nodes is a part by itself."""
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
