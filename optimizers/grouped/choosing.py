"""Which steps of a scope are put together: what is made of the groups of a method."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from couler.ir.graph import Graph
from couler.optimizers.grouped.closing import closed_sets
from couler.optimizers.grouped.scope_problem import ScopeProblem
from couler.optimizers.grouping import (
    Edge,
    Grouping,
    Image,
    Operator,
    Problem,
    Solution,
    group_operators,
    price,
)
from couler.optimizers.grouping.convex import split_by_level
from couler.optimizers.grouping.pods import ancestors, chains, fit_at_once
from couler.optimizers.grouping.solution import assemble_members, common_images
from couler.optimizers.grouping.timed_groups import TimedGroups

__all__ = ["Choice", "choose"]

_LEAST_GAIN = 1e-9
"""A set that costs less by no more than this may do so by what rounding does."""


@dataclass(frozen=True)
class Choice:
    """Groups of two steps or more."""

    groups: tuple[tuple[str, tuple[str, ...]], ...]
    before: float
    after: float
    bound: float | None
    unsafe: frozenset[str] = frozenset()
    """Steps that the method put together with others, and that failures keep apart."""

    @property
    def members(self) -> frozenset[str]:
        """The steps that are in groups."""
        return frozenset(name for _, steps in self.groups for name in steps)


def choose(
    given: ScopeProblem,
    graph: Graph,
    read: frozenset[str],
    *,
    method: str | None,
    most: int | None,
    strict: bool,
) -> Choice:
    """Return the groups of a scope."""
    problem = given.problem
    searched = problem
    if method == "planner":  # what it finds is judged with what is lost
        searched = replace(problem, costs=replace(problem.costs, per_lost_s=0.0))
    grouping = alone = _grouping(problem, ())
    bounds: list[float | None] = []
    unsafe: set[str] = set()
    for case in _cases(searched):
        solution = group_operators(case, method)
        bounds.append(solution.bound)
        sets = _sets(solution, given, graph, read, strict)
        if strict:
            unsafe.update(*(one.operators for one in solution.grouping if len(one.operators) > 1))
            unsafe.difference_update(*sets)
        pieces = [piece for some in sets for piece in _cut(some, given, most, graph, read, strict)]
        chosen = _worth(problem, pieces)
        found = _grouping(problem, chosen)
        if price(problem, found).total < price(problem, grouping).total:
            grouping = found
        if len(chosen) == len(pieces):
            break
    groups = tuple(
        (given.images[group.image], group.operators)
        for group in grouping
        if len(group.operators) > 1
    )
    before, after = (price(problem, one).total for one in (alone, grouping))
    inside = (name for _, members in groups for name in members)
    return Choice(groups, before, after, bounds[0], frozenset(unsafe.difference(inside)))


def _sets(
    solution: Solution, given: ScopeProblem, graph: Graph, read: frozenset[str], strict: bool
) -> list[tuple[str, ...]]:
    many = [group.operators for group in solution.grouping if len(group.operators) > 1]
    if strict:
        return [
            found for members in many for found in closed_sets(graph, members, read, given.apart)
        ]
    # Steps that are no part of the problem can wait between those of a group.
    names = list(graph.predecessors)
    whole = Problem(
        tuple(map(Operator, names)),
        (Image(""),),
        tuple(Edge(one, name) for name in names for one in dict.fromkeys(graph.predecessors[name])),
        mode="batch",
    )
    inside = {name for members in many for name in members}
    groups = [*many, *((name,) for name in names if name not in inside)]
    apart = split_by_level(whole, [[whole.index[name] for name in some] for some in groups])
    return [tuple(names[node] for node in some) for some in apart if len(some) > 1]


def _cut(
    members: tuple[str, ...],
    given: ScopeProblem,
    most: int | None,
    graph: Graph,
    read: frozenset[str],
    strict: bool,
) -> list[tuple[str, ...]]:
    """Return a set in pieces that are not too large: stretches of an order that goes deep first."""
    if len(members) <= (most or len(members)) and (
        sum(map(given.sizes.__getitem__, members)) <= given.script_bytes
    ):
        return [members]
    pieces: list[list[str]] = [[]]
    left = given.script_bytes
    for name in _deep_first(members, graph):
        if pieces[-1] and (len(pieces[-1]) == most or given.sizes[name] > left):
            pieces.append([])
            left = given.script_bytes
        pieces[-1].append(name)
        left -= given.sizes[name]
    found = [tuple(piece) for piece in pieces]
    if strict:
        found = [one for piece in found for one in closed_sets(graph, piece, read, given.apart)]
    return [one for one in found if len(one) > 1]


def _deep_first(members: tuple[str, ...], graph: Graph) -> Iterator[str]:
    """Yield steps in a topological order in which what waits for a step comes soon after it."""
    inside = set(members)
    waiting = {
        name: sum(before in inside for before in graph.predecessors[name]) for name in members
    }
    ready = [name for name in reversed(members) if not waiting[name]]
    while ready:
        name = ready.pop()
        yield name
        for after in reversed(graph.successors[name]):
            if after in inside:
                waiting[after] -= 1
                if not waiting[after]:
                    ready.append(after)


def _worth(problem: Problem, sets: Sequence[tuple[str, ...]]) -> list[tuple[str, ...]]:
    """The sets, of which no two share a step, that cost less as groups than as steps apart."""
    costs = problem.costs
    befores: dict[int, list[tuple[int, float]]] = {}
    for before, after, weight in problem.pairs:
        befores.setdefault(after, []).append((before, weight))
    cases = []
    if costs.per_lost_s:
        cases = [TimedGroups(one, [[node] for node in one.order]) for one in _cases(problem)]
    kept: list[tuple[str, ...]] = []
    for members in sets:
        nodes = [problem.index[name] for name in members]
        saved = _saved(problem, nodes, befores)
        if saved <= 0:
            continue
        if cases and (_runs_guesses_in_turn(problem, nodes) or not _gains(cases, nodes, saved)):
            continue
        kept.append(members)
    return kept


def _saved(
    problem: Problem, nodes: Sequence[int], befores: Mapping[int, Sequence[tuple[int, float]]]
) -> float:
    """Return by how much edges and images of steps cost less if these are one group."""
    inside = set(nodes)
    apart = sum(problem.image_costs[problem.cheapest_image(problem.masks[node])] for node in nodes)
    together = problem.image_costs[problem.cheapest_image(common_images(problem, nodes))]
    edges = sum(
        weight for node in nodes for before, weight in befores.get(node, ()) if before in inside
    )
    return apart + (problem.costs.inter - problem.costs.intra) * edges - together


def _gains(cases: Sequence[TimedGroups], nodes: Sequence[int], saved: float) -> bool:
    """Put steps together in all cases if that loses less than it saves in each; whether it does."""
    lost_s = [one.lost_s for one in cases]
    nodes = sorted(nodes, key=cases[0].problem.rank.__getitem__)
    group = cases[0].group_of[nodes[0]]
    # Cases have the same groups and edges: where one refuses a circle it is the first of them.
    if not all(one.move(nodes, group) for one in cases):
        return False
    if all(
        saved - one.problem.costs.per_lost_s * (one.lost_s - before) > _LEAST_GAIN
        for one, before in zip(cases, lost_s, strict=True)
    ):
        return True
    for one in cases:
        one.take_back()
    return False


def _cases(problem: Problem) -> list[Problem]:
    """Return a problem as it is, and with no seconds for steps of which these are not known."""
    if not problem.costs.per_lost_s or not any(one.is_guess for one in problem.operators):
        return [problem]
    short = (replace(one, seconds=0.0) if one.is_guess else one for one in problem.operators)
    return [problem, replace(problem, operators=tuple(short))]


def _runs_guesses_in_turn(problem: Problem, nodes: Sequence[int]) -> bool:
    """Return whether a step of which no seconds are known may wait for room in its pod."""
    place = {node: number for number, node in enumerate(nodes)}
    befores = [[place[one] for one in problem.predecessors[node] if one in place] for node in nodes]
    some = [problem.operators[node] for node in nodes]
    if fit_at_once(some, problem.limits) >= len(chains(befores)):
        return False
    above = ancestors(befores)
    below = [0] * len(nodes)
    for number in reversed(range(len(nodes))):
        for one in befores[number]:
            below[one] |= below[number] | 1 << number
    return any(
        one.is_guess and (above[number] | below[number]).bit_count() < len(nodes) - 1
        for number, one in enumerate(some)
    )


def _grouping(problem: Problem, sets: Sequence[tuple[str, ...]]) -> Grouping:
    inside = {name for members in sets for name in members}
    members = [[problem.index[name] for name in some] for some in sets]
    members += [[problem.index[one.name]] for one in problem.operators if one.name not in inside]
    return assemble_members(problem, members)
