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
    """Return for each node the number of its strongly connected component, rising along edges."""
    import networkx as nx

    graph = nx.DiGraph()
    graph.add_nodes_from(range(len(before)))
    graph.add_edges_from((node, one) for node, some in enumerate(before) for one in sorted(some))
    component = [0] * len(before)
    for number, nodes in enumerate(nx.strongly_connected_components(graph)):
        for node in nodes:
            component[node] = number
    return component
