"""Pipelines to group: those of the planning paper, and random layers.

The paper's have 14 operators: a generator, 12 that compute Fibonacci numbers, and a terminator, in
one line or in three lines of four. Every operator and every image has the tag `golang`; each of
three special tags is in one image, and there is one image without; of `special` operators drawn at
random each has a special tag, the fourth the same as the first.

An operator that gets n computes F(n) and sends n + step; the generator sends 5. The paper tells no
times: here an operator takes 5 ns for each unit of F(n), what the naive recursion takes in Go on a
machine of today, and an image is set up in 8 s.
"""

from __future__ import annotations

import dataclasses
import itertools
import random
import typing as t

from couler.optimizers.grouping.problem import (
    CONNECTION,
    Costs,
    Edge,
    Image,
    Limits,
    Operator,
    Problem,
)

Topology: t.TypeAlias = t.Literal["line", "parallel"]
TOPOLOGIES: tuple[Topology, ...] = ("line", "parallel")

FIRST = 5
LINES = 3
COMPUTING = 12
SPECIAL_TAGS = 3
NS_PER_UNIT = 5
IMAGE_S = 8.0


def fibonacci(number: int) -> int:
    before, now = 0, 1
    for _ in range(number):
        before, now = now, before + now
    return before


def edges(topology: Topology) -> list[tuple[int, int]]:
    """Return the edges of the paper's 14 operators: 0 generates and 13 terminates."""
    if topology == "line":
        return [(node, node + 1) for node in range(COMPUTING + 1)]
    length = COMPUTING // LINES
    found = []
    for first in range(1, COMPUTING + 1, length):
        line = [0, *range(first, first + length), COMPUTING + 1]
        found += list(itertools.pairwise(line))
    return found


def images(special_tags: int) -> tuple[Image, ...]:
    names = [f"spt-{number}" for number in range(1, special_tags + 1)]
    return (
        Image("golang", frozenset({"golang"}), IMAGE_S),
        *(Image(f"golang-{name}", frozenset({"golang", name}), IMAGE_S) for name in names),
    )


def tags(count: int, special: int, special_tags: int, draw: random.Random) -> list[frozenset[str]]:
    found = [frozenset({"golang"})] * count
    for number, node in enumerate(draw.sample(range(count), special)):
        found[node] |= {f"spt-{number % special_tags + 1}"}
    return found


def numbers(topology: Topology, step: int, first: int = FIRST) -> list[int]:
    """Return for each of the 12 computing operators the number that it gets."""
    length = COMPUTING if topology == "line" else COMPUTING // LINES
    return [first + step * (at % length) for at in range(COMPUTING)]


def paper(topology: Topology, special: int, step: int, draw: random.Random) -> Problem:
    """Return a pipeline of the paper, which has one processor for each pod."""
    seconds = [0.0]
    seconds += [fibonacci(one) * NS_PER_UNIT * 1e-9 for one in numbers(topology, step)] + [0.0]
    names = ["generator", *(f"fibonacci-{at}" for at in range(1, COMPUTING + 1)), "terminator"]
    special_tags = tags(len(names), special, SPECIAL_TAGS, draw)
    return Problem(
        operators=tuple(
            Operator(name, some, seconds=one)
            for name, some, one in zip(names, special_tags, seconds, strict=True)
        ),
        images=images(SPECIAL_TAGS),
        edges=tuple(Edge(names[before], names[after]) for before, after in edges(topology)),
        limits=Limits(cpu=1.0),
    )


def layered(count: int, draw: random.Random, costs: Costs = CONNECTION) -> Problem:
    """Return random layers of up to sqrt(n) operators that read from one or two of the last layer.

    A fifth of them reads from any one before that, too. A tenth of the operators has one of three
    special tags; they take 1 to 10 s; a pod has two processors.
    """
    widest = max(2, int(count**0.5))
    layers: list[range] = []
    pairs: set[tuple[int, int]] = set()
    while not layers or layers[-1].stop < count:
        start = layers[-1].stop if layers else 0
        layers.append(range(start, min(count, start + draw.randint(1, widest))))
        if len(layers) < 2:
            continue
        above = layers[-2]
        for node in layers[-1]:
            some = draw.sample(above, min(len(above), draw.randint(1, 2)))
            pairs |= {(before, node) for before in some}
            if draw.random() < 0.2:
                pairs.add((draw.randrange(above.stop), node))
    return Problem(
        operators=tuple(
            Operator(f"o{node}", some, seconds=draw.uniform(1.0, 10.0))
            for node, some in enumerate(tags(count, count // 10, SPECIAL_TAGS, draw))
        ),
        images=images(SPECIAL_TAGS),
        edges=tuple(Edge(f"o{before}", f"o{after}") for before, after in sorted(pairs)),
        costs=costs,
        limits=Limits(cpu=2.0),
    )


def as_batch(problem: Problem) -> Problem:
    """Return the same of batch steps."""
    return dataclasses.replace(problem, mode="batch")
