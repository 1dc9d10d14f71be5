"""Directed graphs with labels and names, and whether two of them are the same.

Names of arguments, outputs and fields are free, but a name that both graphs have is the same.
"""

from __future__ import annotations

import typing as t
from collections import Counter
from collections.abc import Hashable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from itertools import islice


class Edge(t.NamedTuple):
    """An edge: where from, what it means, where to."""

    source: int
    label: Hashable
    target: int


class Name(t.NamedTuple):
    """What a node is called that is one of several of an owner."""

    kind: str
    owner: int
    path: tuple[str | int, ...]
    known: frozenset[str] = frozenset()
    maker: Hashable = None


@dataclass
class Structure:
    """A directed graph whose nodes and edges have labels; nodes are numbers from 0 on."""

    labels: list[Hashable] = field(default_factory=list)
    edges: set[Edge] = field(default_factory=set)
    facts: dict[int, dict[str, Hashable]] = field(default_factory=dict)
    """What steps, parameters and the workflow state besides."""
    names: dict[int, Name] = field(default_factory=dict)
    calls: dict[int, tuple[str, Hashable]] = field(default_factory=dict)
    """The functions that steps call, with all that they are given."""

    def add(self, label: Hashable) -> int:
        """Add a node, and return its number."""
        self.labels.append(label)
        return len(self.labels) - 1

    def connect(self, source: int, label: Hashable, target: int) -> None:
        """Add an edge."""
        self.edges.add(Edge(source, label, target))


def isomorphism(one: Structure, other: Structure) -> Mapping[int, int] | None:
    """Return which node of another graph stands for each of one, or None if they differ."""
    # Weisfeiler and Leman (1968), "The reduction of a graph to canonical form and the algebra which
    # appears therein"; McKay and Piperno (2014), "Practical graph isomorphism, II", section 2.
    return next(isomorphisms(one, other), None)


def isomorphisms(one: Structure, other: Structure) -> Iterator[Mapping[int, int]]:
    """Yield all ways in which nodes of another graph stand for those of one."""
    if len(one.labels) == len(other.labels) and len(one.edges) == len(other.edges):
        yield from _mappings(_Pair(one, other), None)


def colours(one: Structure, other: Structure) -> tuple[list[int], list[int]]:
    """Return colours of the nodes of both graphs, refined together until they tell no more."""
    return _Pair(one, other).refined(None)


class _Pair:
    """Two graphs side by side, with the neighbours of each node."""

    def __init__(self, one: Structure, other: Structure) -> None:
        self.graphs = (one, other)
        self.around = (_around(one), _around(other))

    def refined(self, start: tuple[list[int], list[int]] | None) -> tuple[list[int], list[int]]:
        now = start or _numbered(*(graph.labels for graph in self.graphs))
        count = len({*now[0], *now[1]})
        while True:
            nodes = [
                [(own, _seen(around, mine)) for own, around in zip(mine, neighbours, strict=True)]
                for mine, neighbours in zip(now, self.around, strict=True)
            ]
            now = _numbered(*nodes)
            found = len({*now[0], *now[1]})
            if found == count:
                return now
            count = found


def _around(graph: Structure) -> list[list[tuple[bool, Hashable, int]]]:
    neighbours: list[list[tuple[bool, Hashable, int]]] = [[] for _ in graph.labels]
    for source, label, target in graph.edges:
        neighbours[source].append((True, label, target))
        neighbours[target].append((False, label, source))
    return neighbours


def _seen(around: list[tuple[bool, Hashable, int]], colour: list[int]) -> Hashable:
    return frozenset(Counter((out, label, colour[node]) for out, label, node in around).items())


def _numbered(
    one: t.Sequence[Hashable], other: t.Sequence[Hashable]
) -> tuple[list[int], list[int]]:
    """Return a number for each of what is hashable, the same for what is equal."""
    numbers: dict[Hashable, int] = {}
    for value in (*one, *other):
        numbers.setdefault(value, len(numbers))
    return [numbers[value] for value in one], [numbers[value] for value in other]


def _mappings(pair: _Pair, start: tuple[list[int], list[int]] | None) -> Iterator[dict[int, int]]:
    """Yield mappings that keep labels and edges and the colours of the start."""
    now = pair.refined(start)
    counts = Counter(now[0])
    if counts != Counter(now[1]):
        return
    alike = [colour for colour, count in counts.items() if count > 1]
    if not alike:
        places = {colour: node for node, colour in enumerate(now[1])}
        mapping = {node: places[colour] for node, colour in enumerate(now[0])}
        if _keeps(pair, mapping):
            yield mapping
        return
    colour = min(alike, key=lambda each: (counts[each], each))
    chosen = now[0].index(colour)
    new = max(*now[0], *now[1]) + 1
    for candidate in (node for node, each in enumerate(now[1]) if each == colour):
        first, second = list(now[0]), list(now[1])
        first[chosen] = second[candidate] = new
        yield from _mappings(pair, (first, second))


def _keeps(pair: _Pair, mapping: Mapping[int, int]) -> bool:
    one, other = pair.graphs
    if any(one.labels[node] != other.labels[there] for node, there in mapping.items()):
        return False
    moved = {Edge(mapping[edge.source], edge.label, mapping[edge.target]) for edge in one.edges}
    return moved == other.edges


# names -------------------------------------------------------------------------------------------

MOST_MAPPINGS = 200
"""So many ways of mapping one graph to another are looked at for one that keeps names together."""


def named(one: Structure, other: Structure) -> tuple[Structure, Structure]:
    """Return two graphs with what counts of names in their labels."""
    both = (one, other)
    colour = colours(one, other)
    has = [_had(graph, own) for graph, own in zip(both, colour, strict=True)]
    shared = {key: has[0][key] & has[1].get(key, set()) for key in has[0]}
    places = {
        key for key in shared if all(any(isinstance(n, int) for n in of.get(key, ())) for of in has)
    }

    def counts(name: Name, key: Hashable) -> tuple[str | int, ...]:
        return tuple(
            part
            for part in name.path
            if (
                key in places
                if isinstance(part, int)
                else part in shared.get(key, ()) or part not in name.known
            )
        )

    made = []
    for graph, own in zip(both, colour, strict=True):
        labels = list(graph.labels)
        for node, name in graph.names.items():
            labels[node] = (labels[node], counts(name, (name.kind, own[name.owner])))
        made.append(replace(graph, labels=labels))
    return made[0], made[1]


def _had(graph: Structure, own: list[int]) -> dict[Hashable, set[str | int]]:
    found: dict[Hashable, set[str | int]] = {}
    for name in graph.names.values():
        found.setdefault((name.kind, own[name.owner]), set()).update(name.known, name.path)
    return found


def is_same(one: Structure, other: Structure) -> bool:
    """Return whether graphs are the same such that each name of a maker stands for one name."""
    ways = islice(isomorphisms(one, other), MOST_MAPPINGS)
    return any(_keeps_names(one, other, way) and _keeps_calls(one, other, way) for way in ways)


def _keeps_names(one: Structure, other: Structure, way: Mapping[int, int]) -> bool:
    forth: dict[Hashable, Hashable] = {}
    back: dict[Hashable, Hashable] = {}
    for node, mine in one.names.items():
        theirs = other.names.get(way[node])
        if theirs is None or mine.maker is None or theirs.maker is None:
            continue
        makers = (mine.kind, mine.maker, theirs.maker)
        if forth.setdefault((makers, mine.path), theirs.path) != theirs.path:
            return False
        if back.setdefault((makers, theirs.path), mine.path) != mine.path:
            return False
    return True


def _keeps_calls(one: Structure, other: Structure, way: Mapping[int, int]) -> bool:
    """Return whether functions that both define stand for themselves, and no call for two."""
    shared = {name for name, _ in one.calls.values()} & {name for name, _ in other.calls.values()}
    pairs = {
        (call, other.calls[way[node]])
        for node, call in one.calls.items()
        if way[node] in other.calls
    }
    return len(pairs) == len({theirs for _, theirs in pairs}) and all(
        mine == theirs or not {mine, theirs} <= shared for (mine, _), (theirs, _) in pairs
    )
