"""Groupings: made of numbers, judged and priced."""
# Automated Planning for Optimal Data Pipeline Instantiation, sections 6.3 and 7.

from __future__ import annotations

import graphlib
import typing as t
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from couler.errors import GroupingError
from couler.optimizers.grouping.problem import Group, Grouping, Problem, busy_seconds


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


class Price(t.NamedTuple):
    """What a grouping costs, in parts."""

    intra: float
    inter: float
    groups: float
    setup: float
    lost: float

    @property
    def total(self) -> float:
        """Sum of the parts."""
        return sum(self)


@dataclass(frozen=True, slots=True)
class Solution:
    """What a method found."""

    grouping: Grouping
    cost: float
    bound: float | None = None


def violations(problem: Problem, grouping: Grouping) -> tuple[str, ...]:
    """Return all that keeps a grouping from solving a problem, one sentence each."""
    images = {image.name: image for image in problem.images}
    wrong = []
    for number, group in enumerate(grouping):
        image = images.get(group.image)
        if image is None:
            wrong.append(f'group {number}: there is no image "{group.image}"')
        if not group.operators:
            wrong.append(f"group {number} has no operators")
        for name in group.operators:
            if name not in problem.index:
                wrong.append(f'group {number}: there is no operator "{name}"')
                continue
            missing = (
                () if image is None else problem.operators[problem.index[name]].tags - image.tags
            )
            if missing:
                tags = ", ".join(sorted(missing))
                wrong.append(
                    f'group {number}: image "{group.image}" lacks {tags} of operator "{name}"'
                )
    counted = Counter(name for group in grouping for name in group.operators)
    for one in problem.operators:
        if counted[one.name] != 1:
            times = f"{counted[one.name]} groups" if counted[one.name] else "no group"
            wrong.append(f'operator "{one.name}" is in {times}')
    if wrong:
        return tuple(wrong)
    return (*_over_limits(problem, grouping), *_out_of_order(problem, grouping))


def _over_limits(problem: Problem, grouping: Grouping) -> list[str]:
    wrong = []
    for name in ("memory_bytes", "gpus") if problem.mode == "streaming" else ():
        limit = getattr(problem.limits, name)
        for number, group in enumerate(grouping):
            total = sum(
                getattr(problem.operators[problem.index[one]], name) for one in group.operators
            )
            if limit is not None and total > limit:
                wrong.append(f"group {number}: {name} is {total}, a pod has {limit}")
    return wrong


def _out_of_order(problem: Problem, grouping: Grouping) -> list[str]:
    wrong = []
    place = {
        name: (number, at)
        for number, group in enumerate(grouping)
        for at, name in enumerate(group.operators)
    }
    for edge in problem.edges:
        before, after = place[edge.before], place[edge.after]
        if before[0] == after[0] and before[1] > after[1]:
            wrong.append(f'group {before[0]}: "{edge.after}" stands before "{edge.before}"')
    if problem.mode == "batch" and not is_acyclic(problem, grouping):
        wrong.append("groups wait for each other in a circle")
    return wrong


def check(problem: Problem, grouping: Grouping) -> None:
    """Raise if a grouping does not solve a problem."""
    wrong = violations(problem, grouping)
    if wrong:
        raise GroupingError("the grouping does not solve its problem", wrong)


def is_acyclic(problem: Problem, grouping: Grouping) -> bool:
    """Return whether no groups wait for each other in a circle, in O(n + m)."""
    return order_of_groups(problem, numbers_of(problem, grouping), len(grouping)) is not None


def price(problem: Problem, grouping: Grouping) -> Price:
    """Return what a valid grouping costs by the costs of its problem, in O((n + m) log n)."""
    # Automated Planning for Optimal Data Pipeline Instantiation, sections 4.1 and 4.2: weights of
    # communication inside of groups and between them, and a cost of instantiating a group.
    group_of = numbers_of(problem, grouping)
    groups = [[problem.index[name] for name in group.operators] for group in grouping]
    setup = {image.name: image.setup_s for image in problem.images}
    lost_s = lost_seconds(problem, group_of, groups) if problem.costs.per_lost_s else 0.0
    costs = problem.costs
    intra = inter = 0.0
    for before, after, weight in problem.pairs:
        if group_of[before] == group_of[after]:
            intra += weight
        else:
            inter += weight
    return Price(
        costs.intra * intra,
        costs.inter * inter,
        costs.group * len(groups),
        costs.per_setup_s * sum(setup[group.image] for group in grouping),
        costs.per_lost_s * lost_s,
    )


def common_images(problem: Problem, members: Sequence[int]) -> int:
    """Return the images that run all of some operators, as bits."""
    mask = -1
    for node in members:
        mask &= problem.masks[node]
    return mask


def numbers_of(problem: Problem, grouping: Grouping) -> list[int]:
    """Return for each operator the number of its group."""
    found = {name: number for number, group in enumerate(grouping) for name in group.operators}
    return [found[one.name] for one in problem.operators]


def order_of_groups(problem: Problem, group_of: Sequence[int], count: int) -> list[int] | None:
    """Return the groups in a topological order, or None if some wait for each other."""
    waits: dict[int, set[int]] = {number: set() for number in range(count)}
    for before, after, _ in problem.pairs:
        if group_of[before] != group_of[after]:
            waits[group_of[after]].add(group_of[before])
    try:
        return list(graphlib.TopologicalSorter(waits).static_order())
    except graphlib.CycleError:
        return None


def assemble(problem: Problem, groups: Iterable[tuple[int, Sequence[int]]]) -> Grouping:
    """Return a grouping of images and operators, given by their numbers."""
    made = [(image, sorted(some, key=problem.rank.__getitem__)) for image, some in groups]
    made = sorted((one for one in made if one[1]), key=lambda one: problem.rank[one[1][0]])
    group_of = [0] * len(problem.operators)
    for number, (_, members) in enumerate(made):
        for node in members:
            group_of[node] = number
    order = order_of_groups(problem, group_of, len(made)) or range(len(made))
    return tuple(
        Group(
            problem.images[made[number][0]].name,
            tuple(problem.operators[node].name for node in made[number][1]),
        )
        for number in order
    )


def assemble_members(problem: Problem, groups: Iterable[Sequence[int]]) -> Grouping:
    """Return a grouping in which each group has the cheapest image that runs all of it."""
    cheapest = problem.cheapest_image
    some = (members for members in groups if members)
    return assemble(
        problem, ((cheapest(common_images(problem, members)), members) for members in some)
    )


def solved(problem: Problem, grouping: Grouping, bound: float | None = None) -> Solution:
    """Return a grouping with what it costs."""
    return Solution(grouping, price(problem, grouping).total, bound)
