"""Parts that are intervals of one topological order, which no circle can join."""

from __future__ import annotations

from collections.abc import Iterable

from couler.optimizers.partitioning.blocks import Blocks


def depth_first(blocks: Blocks) -> list[int]:
    """Return a topological order that follows a chain to its end before the next, in O(n + m)."""
    waiting = [len(befores) for befores in blocks.before]
    ready = [block for block in range(len(waiting) - 1, -1, -1) if not waiting[block]]
    order = []
    while ready:
        block = ready.pop()
        order.append(block)
        for one in reversed(blocks.after[block]):
            waiting[one] -= 1
            if not waiting[one]:
                ready.append(one)
    return order


def levels_of(blocks: Blocks) -> list[int]:
    """Return for each block how many stand on the longest path before it, in O(n + m)."""
    level: list[int] = []
    for befores in blocks.before:
        level.append(max((level[one] + 1 for one in befores), default=0))
    return level


def fill(order: Iterable[int], blocks: Blocks) -> list[list[int]]:
    """Return an order of blocks cut into parts, each as long as the budget allows; O(n)."""
    budget = blocks.budget
    parts: list[list[int]] = []
    load = budget.part
    for block in order:
        if not parts or not budget.fits(load + blocks.costs[block]):
            parts.append([])
            load = budget.part
        parts[-1].append(block)
        load += blocks.costs[block]
    return parts


def by_order(blocks: Blocks) -> list[list[int]]:
    """Topological cutting: intervals of a depth-first topological order."""
    return fill(depth_first(blocks), blocks)


def by_levels(blocks: Blocks) -> list[list[int]]:
    """Level cutting: intervals of the order by level, as Kahn's algorithm with a queue gives it."""
    level = levels_of(blocks)
    return fill(sorted(range(len(level)), key=level.__getitem__), blocks)
