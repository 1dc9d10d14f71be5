"""How long groups take, and what is lost as less runs in parallel: the paper's open problem."""
# Automated Planning for Optimal Data Pipeline Instantiation, sections 6.3 and 7.

from __future__ import annotations

import graphlib
from collections.abc import Sequence

from couler.optimizers.grouping.pods import busy_seconds
from couler.optimizers.grouping.problem import Problem

__all__ = ["group_seconds", "longest_path_s", "lost_seconds", "work_seconds"]


def work_seconds(problem: Problem, members: Sequence[int]) -> float:
    """Return for how long operators, by their numbers, keep the scarcest resource of a pod busy."""
    some = [problem.operators[node] for node in members]
    return busy_seconds(some, problem.limits, is_batch=problem.mode == "batch")


def longest_path_s(problem: Problem, members: Sequence[int] | None = None) -> float:
    """Return the seconds of the longest path of a group, or of the whole graph."""
    ordered = problem.order
    if members is not None:
        ordered = tuple(sorted(members, key=problem.rank.__getitem__))
    ends: dict[int, float] = {}
    for node in ordered:
        start = 0.0
        for one in problem.predecessors[node]:
            end = ends.get(one)  # those outside have none
            if end is not None and end > start:
                start = end
        ends[node] = start + problem.operators[node].seconds
    return max(ends.values(), default=0.0)


def group_seconds(problem: Problem, members: Sequence[int]) -> float:
    """Return how long a group takes by the model of this module."""
    if len(members) == 1:
        return problem.operators[members[0]].seconds
    return max(longest_path_s(problem, members), work_seconds(problem, members))


def lost_seconds(
    problem: Problem, group_of: Sequence[int], groups: Sequence[Sequence[int]]
) -> float:
    """Return how many seconds a grouping loses, in O((n + m) log n)."""
    least = longest_path_s(problem)
    if problem.mode == "streaming":
        most = max((work_seconds(problem, members) for members in groups), default=0.0)
        return max(0.0, most - least)
    waits: dict[int, set[int]] = {number: set() for number in range(len(groups))}
    for before, after, _ in problem.pairs:
        if group_of[before] != group_of[after]:
            waits[group_of[after]].add(group_of[before])
    ends: dict[int, float] = {}
    for number in graphlib.TopologicalSorter(waits).static_order():
        start = max((ends[one] for one in waits[number]), default=0.0)
        ends[number] = start + group_seconds(problem, groups[number])
    return max(0.0, max(ends.values(), default=0.0) - least)
