"""The one function that makes parts, and the methods that it knows."""

from __future__ import annotations

import types
from collections.abc import Callable, Mapping, Sequence

from couler.errors import BudgetError
from couler.optimizers.partitioning.blocks import Blocks
from couler.optimizers.partitioning.budget import Budget
from couler.optimizers.partitioning.dfs import by_walk, walked
from couler.optimizers.partitioning.model import Partition, TaskGraph, over_budget
from couler.optimizers.partitioning.orders import by_levels, by_order
from couler.optimizers.partitioning.search import SLACK, by_bands

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


def paper_partition(
    graph: TaskGraph,
    budget: Mapping[str, int],
    *,
    part_overhead: Mapping[str, int] | None = None,
    cut_overhead: Mapping[str, int] | None = None,
) -> Partition:
    """Put nodes into parts as the Couler paper does, circles and all; to compare with."""
    limits = Budget(graph, budget, part_overhead or {}, cut_overhead or {})
    blocks = Blocks(graph, limits)
    return _whole(blocks) or Partition(*_spread(blocks, walked(_checked(blocks))))


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
