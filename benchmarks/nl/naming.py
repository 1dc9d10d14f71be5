"""Names of arguments, outputs and fields: free, but a name that both workflows have is the same."""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from dataclasses import replace
from itertools import islice

from benchmarks.nl.structure import Name, Structure, colours, isomorphisms

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
    return any(_keeps_names(one, other, way) for way in ways)


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
