"""Nodes that are alike, so that a choice among thousands looks at a few."""

from __future__ import annotations

import bisect
import math
from collections.abc import Sequence

from couler.cluster.model import ClusterNode
from couler.optimizers.placement.problem import Pipeline
from couler.optimizers.placement.requirements import is_exact
from couler.optimizers.placement.speeds import Speeds

__all__ = ["node_classes", "size_of"]

_SIZES = 8
"""Of amounts from one power of two to the next, so many sizes are told apart."""


def node_classes(
    nodes: Sequence[ClusterNode],
    pipelines: Sequence[Pipeline],
    speeds: Speeds,
    margin: float = 1.0,
) -> list[list[int]]:
    """Return the numbers of nodes, those together that no task can tell apart."""
    named = {place for _, place in speeds.rates}
    labels: set[tuple[str, str]] = set()
    cpus: set[float] = set()
    data: set[float] = set()
    for pipeline in pipelines:
        for task in pipeline.tasks:
            named.update(task.seconds)
            labels.update(task.selector.items())
            data.add(margin * task.memory_bytes)
            if not task.assumes_cpu:
                cpus.add(task.cpu)
    cpu_steps, memory_steps = sorted(cpus), sorted(data)
    fitting = bisect.bisect_right if is_exact(margin) else bisect.bisect_left
    found: dict[object, list[int]] = {}
    for number, node in enumerate(nodes):
        gpus = node.gpus
        alike = (
            node.name if node.name in named else "",
            node.group,
            node.architecture,
            *size_of(node),
            bisect.bisect_right(cpu_steps, node.cpu),
            fitting(memory_steps, node.memory_bytes),
            None if gpus is None else (gpus.type, gpus.count, gpus.resource),
            node.pods,
            node.taints,
            node.price_usd_per_h,
            frozenset(labels.intersection(node.labels.items())) if labels else None,
        )
        found.setdefault(alike, []).append(number)
    return list(found.values())


def size_of(node: ClusterNode) -> tuple[int, int]:
    """Return how large the processors and the memory of a node are, about."""
    cpu, memory = (round(_SIZES * math.log2(one)) for one in (node.cpu, node.memory_bytes))
    return cpu, memory
