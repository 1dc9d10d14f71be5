"""Random graphs of the shapes that workflows have; the same for the same seed.

Steps take 1 to 100 seconds and edges carry 1 to 1,000,000 bytes, both drawn uniformly.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping, Sequence

from couler.optimizers.partitioning.model import TaskGraph


def chain(steps: int, draw: random.Random) -> TaskGraph:
    """Return one chain."""
    return _graph([(node - 1,) if node else () for node in range(steps)], draw)


def fan_out(steps: int, draw: random.Random) -> TaskGraph:
    """Return one step that all others wait for."""
    return _graph([(0,) if node else () for node in range(steps)], draw)


def fan_in(steps: int, draw: random.Random) -> TaskGraph:
    """Return one step that waits for all others."""
    return _graph([()] * (steps - 1) + [tuple(range(steps - 1))], draw)


def out_tree(steps: int, draw: random.Random) -> TaskGraph:
    """Return a tree in which each step waits for any one step before it."""
    return _graph([(draw.randrange(node),) if node else () for node in range(steps)], draw)


def in_tree(steps: int, draw: random.Random) -> TaskGraph:
    """Return a tree in which any one step after it waits for each step."""
    before: list[list[int]] = [[] for _ in range(steps)]
    for node in range(steps - 1):
        before[draw.randrange(node + 1, steps)].append(node)
    return _graph(before, draw)


def chains(steps: int, draw: random.Random) -> TaskGraph:
    """Return chains of 10 steps between one step at the start and one at the end."""
    before: list[Sequence[int]] = [()]
    before += [(node - 1 if node % 10 != 1 else 0,) for node in range(1, steps - 1)]
    ends = {node for node in range(1, steps - 1) if node % 10 == 0} | {steps - 2}
    return _graph([*before, sorted(ends)], draw)


def layered(steps: int, draw: random.Random, width: int = 50, skip: float = 0.05) -> TaskGraph:
    """Return layers of 1 to `width` steps that wait for 1 or 2 of the layer before.

    A share `skip` of the steps waits for one more step of any layer before that.
    """
    before: list[Sequence[int]] = []
    above = 0
    while len(before) < steps:
        first = len(before)
        for _ in range(min(draw.randint(1, width), steps - first)):
            chosen = draw.sample(range(above, first), min(draw.randint(1, 2), first - above))
            if above and draw.random() < skip:
                chosen.append(draw.randrange(above))
            before.append(sorted(chosen))
        above = first
    return _graph(before, draw)


def wide(steps: int, draw: random.Random) -> TaskGraph:
    """Return layers of up to 2,000 steps."""
    return layered(steps, draw, width=2_000)


SHAPES: Mapping[str, Callable[[int, random.Random], TaskGraph]] = {
    "chain": chain,
    "chains": chains,
    "fan-out": fan_out,
    "fan-in": fan_in,
    "out-tree": out_tree,
    "in-tree": in_tree,
    "layered": layered,
    "wide": wide,
}
"""What each shape is called; a maker takes the number of steps and where to draw from."""


def _graph(before: Sequence[Sequence[int]], draw: random.Random) -> TaskGraph:
    ones = (1,) * len(before)
    return TaskGraph(
        names=tuple(f"step-{node}" for node in range(len(before))),
        predecessors=tuple(map(tuple, before)),
        costs={"steps": ones, "pods": ones},
        seconds=tuple(float(draw.randint(1, 100)) for _ in before),
        edge_bytes={
            (one, node): draw.randint(1, 1_000_000)
            for node, befores in enumerate(before)
            for one in befores
        },
    )
