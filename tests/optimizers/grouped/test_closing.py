"""Closed sets: what can become one step without any run coming to something else."""

from __future__ import annotations

import itertools
import random

from couler.ir.graph import Graph
from couler.optimizers.grouped.choosing import closed_sets

NONE: frozenset[str] = frozenset()


def graph(**edges: str) -> Graph:
    """Return a graph of steps that wait for others, named by one letter each."""
    return Graph({name: tuple(befores) for name, befores in edges.items()})


def test_who_waits_for_an_end_need_not_wait_for_success() -> None:
    """If b fails, c runs if it waits for the end of x; and it reads a."""
    made = graph(a="", b="a", x="b", c="ax")
    assert closed_sets(made, "ab", NONE) == [("a", "b")]
    assert closed_sets(made, "ab", NONE, frozenset("x")) == []


def test_random_graphs() -> None:
    """Every set is closed, and where one set of all exists it is found."""
    found = whole = 0
    for seed in range(300):
        dice = random.Random(seed)
        names = "abcdefg"[: dice.randint(2, 7)]
        made = Graph(
            {
                name: tuple(b for b in names[:at] if dice.random() < 0.4)
                for at, name in enumerate(names)
            }
        )
        among = [name for name in names if dice.random() < 0.8]
        read = frozenset(name for name in names if dice.random() < 0.2)
        sets = closed_sets(made, among, read)
        members = [name for some in sets for name in some]
        assert len(members) == len(set(members))
        assert set(members) <= set(among)
        assert all(is_closed(made, some, read) for some in sets)
        largest = max(
            (
                size
                for size in range(2, len(among) + 1)
                for some in itertools.combinations(among, size)
                if is_closed(made, some, read)
            ),
            default=0,
        )
        assert (largest > 0) == bool(sets)
        found += bool(sets)
        whole += bool(sets) and max(map(len, sets)) == largest
    assert found > 100
    assert whole > 0.9 * found


def is_closed(made: Graph, members: tuple[str, ...], read: frozenset[str]) -> bool:
    """Return whether a set of steps is closed, as `choosing` defines it, word by word."""
    inside = set(members)
    outside = {b for name in members for b in made.predecessors[name]} - inside
    waits_for_all = all(outside <= through(made, name, inside) for name in members)
    if not any(name in read or set(made.successors[name]) - inside for name in members):
        return waits_for_all
    everything = set(made.predecessors)
    exits = [
        end
        for end in members
        if all(end in reached(made, name, inside) for name in members)
        and not (set(members) - {end}) & read
        and all(
            after in reached(made, end, everything)
            for name in members
            for after in set(made.successors[name]) - inside
        )
    ]
    return waits_for_all and bool(exits)


def through(made: Graph, name: str, inside: set[str]) -> set[str]:
    """Return what a step waits for, directly or through steps of a set."""
    found: set[str] = set()
    for before in made.predecessors[name]:
        found.add(before)
        if before in inside:
            found |= through(made, before, inside)
    return found


def reached(made: Graph, name: str, inside: set[str]) -> set[str]:
    """Return what a step leads to within a set, itself included."""
    found = {name}
    for after in made.successors[name]:
        if after in inside:
            found |= reached(made, after, inside)
    return found
