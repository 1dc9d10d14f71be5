"""How many tasks of a step can run at once: what a cluster has room for, and what limits allow."""

from __future__ import annotations

import heapq
import math
from collections.abc import Iterator, Sequence

from couler.cluster.model import Cluster, ClusterNode
from couler.ir.workflow import Step
from couler.optimizers.placement.flattening import MOST_COPIES
from couler.optimizers.placement.pod_needs import needs_of
from couler.optimizers.placement.problem import Edge, Pipeline, Task, topological_order
from couler.optimizers.silent_steps import SILENT_CPU

__all__ = ["MOST_COPIES_OF_ALL", "USUAL_OPERATIONS_PER_S", "lane_edges", "most_copies"]

MOST_COPIES_OF_ALL = 512
"""So many tasks stand for a step at most, however much room there is."""

USUAL_OPERATIONS_PER_S = 1e9
"""Puts tasks in an order of which operations are known and no seconds."""


def most_copies(step: Step, cluster: Cluster) -> int:
    """Return how many tasks may stand for a step: as many as have room at once, 64 to 512."""
    needs = needs_of(step)

    def room(node: ClusterNode) -> float:
        cpu = needs.cpu or min(SILENT_CPU, node.cpu)
        shares = [(node.cpu, cpu), (node.memory_bytes, needs.memory_bytes), (node.pods, 1)]
        shares.append((node.gpus.count if node.gpus else 0, needs.gpus))
        return min((has // asked for has, asked in shares if asked), default=math.inf)

    found = sum(room(node) for node in cluster.nodes)
    return int(min(MOST_COPIES_OF_ALL, max(MOST_COPIES, found)))


def lane_edges(pipeline: Pipeline, limits: Sequence[tuple[Sequence[str], int]]) -> Iterator[Edge]:
    """Yield edges by which of some tasks no more than a number run at once."""
    if not limits:
        return
    starts = _starts(pipeline)
    known = {(edge.source, edge.target) for edge in pipeline.edges}
    for names, width in limits:
        lanes = [(0.0, number, "") for number in range(width)]
        for name in sorted(names, key=starts.__getitem__):
            free, number, before = lanes[0]
            start, _, seconds = starts[name]
            heapq.heapreplace(lanes, (max(free, start) + seconds, number, name))
            if before and (before, name) not in known:
                known.add((before, name))
                yield Edge(before, name)


def _starts(pipeline: Pipeline) -> dict[str, tuple[float, int, float]]:
    """Return when each task could start, its place in an order of all, and how long it takes."""
    order = topological_order(pipeline)
    names = [task.name for task in pipeline.tasks]
    seconds = dict(zip(names, map(_seconds, pipeline.tasks), strict=True))
    befores: dict[str, list[str]] = {name: [] for name in names}
    for edge in pipeline.edges:
        befores[edge.target].append(edge.source)
    found: dict[str, tuple[float, int, float]] = {}
    for place, name in enumerate(names[number] for number in order):
        ends = (start + takes for start, _, takes in (found[one] for one in befores[name]))
        found[name] = max(ends, default=0.0), place, seconds[name]
    return found


def _seconds(task: Task) -> float:
    known = task.seconds.get("")
    return task.operations / USUAL_OPERATIONS_PER_S if known is None else known
