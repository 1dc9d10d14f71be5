"""Circles of a directed graph, and the graph between groups of nodes."""

from __future__ import annotations

from collections.abc import Sequence


def quotient_edges(
    predecessors: Sequence[Sequence[int]], group_of: Sequence[int], count: int
) -> list[set[int]]:
    """Return for each group the other groups that it waits for, in O(n + m)."""
    before: list[set[int]] = [set() for _ in range(count)]
    for node, befores in enumerate(predecessors):
        group = group_of[node]
        for one in befores:
            if group_of[one] != group:
                before[group].add(group_of[one])
    return before


def topological_order(before: Sequence[set[int]]) -> list[int]:
    """Nodes after those that they wait for, lowest first; what a circle blocks is left out."""
    after: list[list[int]] = [[] for _ in before]
    for node, befores in enumerate(before):
        for one in befores:
            after[one].append(node)
    waiting = [len(befores) for befores in before]
    order = [node for node, count in enumerate(waiting) if not count]
    for node in order:  # grows while it is read: a queue
        for one in after[node]:
            waiting[one] -= 1
            if not waiting[one]:
                order.append(one)
    return order


def strong_components(before: Sequence[set[int]]) -> list[int]:
    """Return for each node a number of its strongly connected component, 0 and up."""
    low = [-1] * len(before)
    component = [-1] * len(before)
    open_nodes: list[int] = []
    seen = found = 0
    for root in range(len(before)):
        if low[root] >= 0:
            continue
        walk = [(root, iter(sorted(before[root])))]
        entered = {root: seen}
        low[root] = seen
        seen += 1
        open_nodes.append(root)
        while walk:
            node, rest = walk[-1]
            for one in rest:
                if low[one] < 0:
                    entered[one] = low[one] = seen
                    seen += 1
                    open_nodes.append(one)
                    walk.append((one, iter(sorted(before[one]))))
                    break
                if component[one] < 0:
                    low[node] = min(low[node], low[one])
            else:
                walk.pop()
                if walk:
                    low[walk[-1][0]] = min(low[walk[-1][0]], low[node])
                if low[node] == entered[node]:
                    while component[node] < 0:
                        component[open_nodes.pop()] = found
                    found += 1
    return component
