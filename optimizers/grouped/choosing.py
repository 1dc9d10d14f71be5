"""Which steps of a scope are put together: closed sets, and the groups of a method made of them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from couler.ir.graph import Graph
from couler.optimizers.grouped.scope_problem import ScopeProblem
from couler.optimizers.grouping.greedy import split_by_level
from couler.optimizers.grouping.methods import group_operators
from couler.optimizers.grouping.problem import (
    Edge,
    Grouping,
    Image,
    Operator,
    Problem,
    ancestors,
    chains,
    fit_at_once,
)
from couler.optimizers.grouping.solution import Solution, assemble_members, common_images, price
from couler.optimizers.grouping.timed_groups import TimedGroups

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


_MOST_LOOKS = 200_000
"""After so many looks at steps, no more sets of steps to wait for are tried for an exit."""


_MOST_BELOW = 2_000_000
"""After so many looks at steps behind exits, others are taken to wait for no exit of which it is
not plain."""


def closed_sets(
    graph: Graph,
    among: Iterable[str],
    read: frozenset[str],
    apart: frozenset[str] = frozenset(),
) -> list[tuple[str, ...]]:
    """Return disjoint closed sets of two steps or more, each in a topological order."""
    return _Search(graph, among, read, _Below(graph, apart)).run()


class _Below:
    """Finds the steps that run only if another one has succeeded, as they wait for that."""

    def __init__(self, graph: Graph, apart: frozenset[str]) -> None:
        self.graph, self.apart = graph, apart
        self.looks = 0

    def of(self, end: str) -> set[str]:
        """Return those that wait for one step, directly or through others, to succeed."""
        found: set[str] = set()
        if self.looks > _MOST_BELOW:
            return found
        waiting = [end]
        for name in waiting:  # grows while it is read: a queue
            if name in self.apart:  # who waits for its end need not wait for its success
                continue
            for after in self.graph.successors[name]:
                if after not in found:
                    found.add(after)
                    waiting.append(after)
        self.looks += len(waiting)
        return found


class _Search:
    def __init__(
        self, graph: Graph, among: Iterable[str], read: frozenset[str], below: _Below
    ) -> None:
        self.graph, self.read, self.below = graph, read, below
        self.place = graph.places
        self.free = set(among)
        self.looks = 0

    def run(self) -> list[tuple[str, ...]]:
        found = []
        ends = sorted(self.free, key=self.place.__getitem__, reverse=True)
        while len(best := self._largest(None)) > 1:
            found.append(best)
            self.free.difference_update(best)
        for end in ends:
            if end in self.free and len(best := self._largest(end)) > 1:
                found.append(best)
                self.free.difference_update(best)
        return found

    def _largest(self, end: str | None) -> tuple[str, ...]:
        """Return the largest closed set with some exit, or with none."""
        below = set[str]() if end is None else self.below.of(end)
        start = self._leading_to(end, below)
        if len(start) < 2:
            return ()
        entries: dict[frozenset[str], list[str]] = {}
        for name in sorted(start, key=self.place.__getitem__):
            entries.setdefault(frozenset(self.graph.predecessors[name]), []).append(name)
        best: list[str] = []
        self.looks = 0
        for waits, first in entries.items():
            inside = self._closed(waits, first, start, end, below)
            if len(inside) > len(best):
                best = inside
            if len(best) == len(start) or self.looks > _MOST_LOOKS:
                break
        return tuple(best)

    def _leading_to(self, end: str | None, below: set[str]) -> set[str]:
        """Return the steps that lead to an exit, and else to what is below it alone."""
        graph = self.graph
        if end is not None:
            inside, waiting = {end}, [end]
        else:
            waiting = [
                one for one in self.free if not graph.successors[one] and one not in self.read
            ]
            inside = set(waiting)
        for name in waiting:  # grows while it is read: a queue
            for before in graph.predecessors[name]:
                if before not in self.free or before in inside or before in self.read:
                    continue
                if all(after in inside or after in below for after in graph.successors[before]):
                    inside.add(before)
                    waiting.append(before)
        return inside

    def _closed(
        self,
        waits: frozenset[str],
        first: list[str],
        among: set[str],
        end: str | None,
        below: set[str],
    ) -> list[str]:
        """Return the largest closed set that waits for some steps; in a topological order."""
        graph = self.graph
        while True:
            inside, waiting = set(first), list(first)
            for name in waiting:
                for after in graph.successors[name]:
                    if after not in among or after in inside:
                        continue
                    if all(one in inside or one in waits for one in graph.predecessors[after]):
                        inside.add(after)
                        waiting.append(after)
            self.looks += len(inside)
            kept = set[str]()
            for name in sorted(inside, key=self.place.__getitem__, reverse=True):
                behind = graph.successors[name]
                leads = end is None or not kept.isdisjoint(behind)
                if name == end or (leads and all(one in kept or one in below for one in behind)):
                    kept.add(name)
            if len(kept) == len(inside):
                return sorted(kept, key=self.place.__getitem__)
            among, first = kept, [name for name in first if name in kept]
