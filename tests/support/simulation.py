"""How long a run of a workflow takes on a number of workers: steps that start, and end.

The model: a step that is ready takes a free worker at once and keeps it for its seconds; where
there are fewer workers than ready steps, the step that was ready first goes first, then the one
of the lower number. Starting a step, and moving data, take no time. A step is ready as soon as

- all steps that it waits for are complete (`gates`; also a workflow that is not split), or
- the steps of its own part that it waits for are complete, and so are *all* steps of all parts
  that its part waits for (`barriers`: a part is submitted when those before it have ended).

With gates, each edge between parts is a node of its own that needs no worker: it opens when the
step that it watches is complete, and only the step behind it waits for it.
"""

from __future__ import annotations

import heapq
from collections.abc import Iterable, Sequence

from couler.optimizers.partitioning.model import TaskGraph


class CircleError(ValueError):
    """Parts wait for each other, so that some steps never start."""


def gates(
    graph: TaskGraph, part_of: Sequence[int] | None = None, workers: int | None = None
) -> float:
    """Return the makespan where each step waits for steps only, in seconds.

    Parameters
    ----------
    graph
        The workflow.
    part_of
        For each step its part; None for a workflow that is not split.
    workers
        How many steps run at a time; None for any number.
    """
    steps = len(graph.names)
    edges = [
        (before, node) for node, befores in enumerate(graph.predecessors) for before in set(befores)
    ]
    count = steps
    if part_of is not None:
        cut = [(one, other) for one, other in edges if part_of[one] != part_of[other]]
        edges = [(one, other) for one, other in edges if part_of[one] == part_of[other]]
        edges += [(one, steps + gate) for gate, (one, _) in enumerate(cut)]
        edges += [(steps + gate, other) for gate, (_, other) in enumerate(cut)]
        count += len(cut)
    return _run(graph.seconds, count, edges, workers)


def barriers(graph: TaskGraph, part_of: Sequence[int], workers: int | None = None) -> float:
    """Return the makespan where a part waits for whole parts, in seconds.

    Parameters
    ----------
    graph
        The workflow.
    part_of
        For each step its part, 0 and up.
    workers
        How many steps run at a time; None for any number.

    Raises
    ------
    CircleError
        Parts wait for each other.
    """
    # A part gets two nodes of no length: its start, before all its steps, and its end, after all.
    steps = len(graph.names)
    parts = max(part_of, default=-1) + 1
    start, end = steps, steps + parts
    edges = {(start + part, node) for node, part in enumerate(part_of)}
    edges |= {(node, end + part) for node, part in enumerate(part_of)}
    for node, befores in enumerate(graph.predecessors):
        for before in befores:
            if part_of[before] == part_of[node]:
                edges.add((before, node))
            else:
                edges.add((end + part_of[before], start + part_of[node]))
    return _run(graph.seconds, steps + 2 * parts, edges, workers)


def _run(
    seconds: Sequence[float], count: int, edges: Iterable[tuple[int, int]], workers: int | None
) -> float:
    """Return when the last of `count` nodes ends; those that are no steps take no time."""
    steps = len(seconds)
    after: list[list[int]] = [[] for _ in range(count)]
    waiting = [0] * count
    for one, other in edges:
        after[one].append(other)
        waiting[other] += 1
    free = steps if workers is None else workers
    now, done = 0.0, 0
    ready = [(0.0, node) for node in range(steps) if not waiting[node]]
    ended = [node for node in range(steps, count) if not waiting[node]]
    running: list[tuple[float, int]] = []
    while True:
        for node in ended:  # grows while it is read
            done += 1
            for one in after[node]:
                waiting[one] -= 1
                if waiting[one]:
                    continue
                if one < steps:
                    heapq.heappush(ready, (now, one))
                else:
                    ended.append(one)
        while ready and free:
            node = heapq.heappop(ready)[1]
            free -= 1
            heapq.heappush(running, (now + seconds[node], node))
        if not running:
            break
        now = running[0][0]
        ended = []
        while running and running[0][0] == now:
            ended.append(heapq.heappop(running)[1])
            free += 1
    if done < count:
        raise CircleError(f"{count - done} steps and parts never start")
    return now
