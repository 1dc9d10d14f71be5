"""How long groups take, and what is lost as less runs in parallel: the paper's open problem.

The paper (7) finds that the connection heuristic "does not consider possible parallel executions".
Here is what its costs lack, defined so that it can be found in O(n + m) and be given to a solver.

Batch mode. A pod runs the steps of its group as the graph and its limits allow: in order if there
is room for one at a time, in parallel if there is room for several. That takes at least, and is
taken to be, the longest of

- the longest path within the group, in seconds, and
- for each resource r that a pod has little of the sum of `seconds x amount of r` over the group, by
  what the pod has of r: for processors the sequential work by how much of it fits at once. What
  a pod has is told by `couler.optimizers.grouping.pods`.

(List scheduling takes less than twice as long for one resource, and exactly so long where one step
fits at a time or all do.) A group starts when all groups that it reads from have ended. What is
lost is how much later the last group then ends than the longest path of the whole graph.

Streaming mode. Operators start at their first messages, and no group waits for another. What is
lost is by how much the sequential work of one group, by the processors of its pod, exceeds the
longest path of the whole graph, for the group where that is most.

Setting up and transfer are not in it: groups and edges cost by themselves.

References
----------
Automated Planning for Optimal Data Pipeline Instantiation, sections 6.3 and 7.
"""

from __future__ import annotations

import graphlib
from collections.abc import Sequence

from couler.optimizers.grouping.pods import busy_seconds
from couler.optimizers.grouping.problem import Problem

__all__ = ["group_seconds", "longest_path_s", "lost_seconds", "work_seconds"]


def work_seconds(problem: Problem, members: Sequence[int]) -> float:
    """Return for how long operators, by their numbers, keep the scarcest resource of a pod busy.

    Examples
    --------
    >>> from couler.optimizers.grouping import Image, Limits, Operator
    >>> two = (Operator("a", cpu=1, seconds=3), Operator("b", cpu=2, seconds=1))
    >>> work_seconds(Problem(two, (Image("i"),), limits=Limits(cpu=2)), (0, 1))
    2.5
    """
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
    """Return how many seconds a grouping loses, in O((n + m) log n).

    Parameters
    ----------
    problem
        With n operators.
    group_of
        For each operator its group.
    groups
        For each group its operators; in batch mode none waits for another in a circle.

    Raises
    ------
    graphlib.CycleError
        Groups wait for each other, in batch mode.
    """
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
