"""The one function that makes parts and the methods that it knows."""

from __future__ import annotations

import types
from collections.abc import Callable, Mapping, Sequence, Set as AbstractSet

from couler.errors import BudgetError
from couler.optimizers.partitioning.blocks import Blocks
from couler.optimizers.partitioning.budget import Budget
from couler.optimizers.partitioning.circles import (
    quotient_edges,
    strong_components,
    topological_order,
)
from couler.optimizers.partitioning.model import Partition, TaskGraph, over_budget
from couler.optimizers.partitioning.orders import by_levels, by_order
from couler.optimizers.partitioning.search import SLACK, by_bands


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


def walked(blocks: Blocks) -> list[list[int]]:
    """Return parts as the paper makes them; they can wait for each other in a circle."""
    # X. Wang et al.: Couler: Unified Machine Learning Workflow Optimization in Cloud,
    # arXiv:2403.07608 (2024), section IV-B, algorithm 3.
    budget, costs, after = blocks.budget, blocks.costs, blocks.after
    count = len(costs)
    seen = [False] * count
    parts: list[list[int]] = []
    candidate: list[int] = []
    load = budget.part
    first = [nodes[0] for nodes in blocks.members]
    for root in sorted(range(count), key=first.__getitem__):
        stack = [root]
        while stack:
            block = stack.pop()
            if seen[block]:
                continue
            seen[block] = True
            if candidate and not budget.fits(load + costs[block]):
                parts.append(candidate)
                candidate, load = [], budget.part
            candidate.append(block)
            load += costs[block]
            stack += sorted(after[block], key=first.__getitem__, reverse=True)
    return [inside for inside in (*parts, candidate) if inside]


def by_walk(blocks: Blocks) -> list[list[int]]:
    """Return the paper's parts with those of each circle made one, in a topological order."""
    budget = blocks.budget
    parts = walked(blocks)
    part_of = [0] * len(blocks.before)
    for part, inside in enumerate(parts):
        for block in inside:
            part_of[block] = part
    component = strong_components(quotient_edges(blocks.before, part_of, len(parts)))
    merged: dict[int, list[int]] = {}
    circles: dict[int, int] = {}
    for part, inside in enumerate(parts):
        merged.setdefault(component[part], []).extend(inside)
        circles[component[part]] = circles.get(component[part], 0) + 1
    for number, inside in merged.items():
        load = budget.part + blocks.load(inside)
        if not budget.fits(load):
            nodes = tuple(sorted(node for block in inside for node in blocks.members[block]))
            raise over_budget(
                blocks.graph,
                nodes,
                f"{circles[number]} parts of the depth-first walk wait for each other, and in one "
                f"{budget.excess(load)}; the method 'bands' makes no circles",
            )
    numbers = {number: index for index, number in enumerate(sorted(merged))}
    new = [numbers[component[part]] for part in part_of]
    before = quotient_edges(blocks.before, new, len(numbers))
    ordered = [merged[number] for number in sorted(merged)]
    return [ordered[number] for number in topological_order(before)]


METHODS: Mapping[str, Callable[[Blocks, float], Sequence[Sequence[int]]]] = types.MappingProxyType(
    {
        "bands": by_bands,
        "levels": lambda blocks, _: by_levels(blocks),
        "order": lambda blocks, _: by_order(blocks),
        "dfs": lambda blocks, _: by_walk(blocks),
    }
)
"""What each method is called; from blocks and slack to parts in a topological order."""

RELAXED = 4
"""By what the slack is multiplied where there would be too many parts."""


def partition(
    graph: TaskGraph,
    budget: Mapping[str, int],
    method: str = "bands",
    *,
    slack: float = SLACK,
    most_parts: int | None = None,
    part_overhead: Mapping[str, int] | None = None,
    cut_overhead: Mapping[str, int] | None = None,
) -> Partition:
    """Put each node into one part, so that parts keep a budget and wait for none in a circle."""
    limits = Budget(graph, budget, part_overhead or {}, cut_overhead or {})
    blocks = Blocks(graph, limits)
    found = _whole(blocks) or Partition(*_spread(blocks, METHODS[method](_checked(blocks), slack)))
    if most_parts is None:
        return found
    if found.count > most_parts and method == "bands":
        found = Partition(*_spread(blocks, by_bands(blocks, RELAXED * slack or SLACK)))
    if found.count > most_parts and method == "bands":
        found = Partition(*_spread(blocks, by_levels(blocks)))
    if found.count > most_parts:
        raise BudgetError(f"the budget needs {found.count} parts; at most {most_parts} can be had")
    return found


def _whole(blocks: Blocks) -> Partition | None:
    """Return the one part that holds all nodes, if it can."""
    limits, count = blocks.budget, len(blocks.graph.names)
    fits = limits.fits(limits.part + sum(blocks.own))
    return Partition((0,) * count, min(count, 1)) if fits else None


def _spread(blocks: Blocks, parts: Sequence[Sequence[int]]) -> tuple[tuple[int, ...], int]:
    return tuple(blocks.spread(parts)), len(parts)


def _checked(blocks: Blocks) -> Blocks:
    """Return the blocks if each of them fits by itself with all that crosses."""
    limits = blocks.budget
    for nodes, cost in zip(blocks.members, blocks.costs, strict=True):
        if not limits.fits(limits.part + cost):
            what = "with what it reads from other parts and gives to them, "
            raise over_budget(blocks.graph, nodes, what + limits.excess(limits.part + cost))
    return blocks
