"""The method of the Couler paper: parts along a depth-first walk."""

from __future__ import annotations

from couler.optimizers.partitioning.blocks import Blocks
from couler.optimizers.partitioning.circles import (
    quotient_edges,
    strong_components,
    topological_order,
)
from couler.optimizers.partitioning.model import over_budget


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
