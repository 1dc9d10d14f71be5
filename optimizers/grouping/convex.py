"""Groups that wait for each other in a circle, taken apart."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from couler.optimizers.grouping.problem import Problem
from couler.optimizers.partitioning.circles import quotient_edges, strong_components


def split_by_level(problem: Problem, groups: Sequence[Sequence[int]]) -> list[list[int]]:
    """Take groups that wait for each other apart, so that none do; the others stay as they are."""
    group_of = [0] * len(problem.operators)
    for number, some in enumerate(groups):
        for node in some:
            group_of[node] = number
    waits = quotient_edges(problem.predecessors, group_of, len(groups))
    circle_of = strong_components(waits)
    sizes = Counter(circle_of)
    level = [0] * len(problem.operators)
    for node in problem.order:
        circle = circle_of[group_of[node]]
        if sizes[circle] > 1:
            level[node] = max(
                (
                    level[one] + (group_of[one] != group_of[node])
                    for one in problem.predecessors[node]
                    if circle_of[group_of[one]] == circle
                ),
                default=0,
            )
    found: dict[tuple[int, int], list[int]] = {}
    for node in problem.order:
        found.setdefault((group_of[node], level[node]), []).append(node)
    return list(found.values())
