"""Nodes that are alike, so that a choice among thousands looks at a few."""

from __future__ import annotations

from collections.abc import Sequence

from couler.cluster.model import ClusterNode
from couler.optimizers.placement.problem import Pipeline
from couler.optimizers.placement.speeds import Speeds

__all__ = ["node_classes"]


def node_classes(
    nodes: Sequence[ClusterNode], pipelines: Sequence[Pipeline], speeds: Speeds
) -> list[list[int]]:
    """Return the numbers of nodes, those together that no task can tell apart.

    Nodes are alike if they have the same group, architecture, processors, memory, GPUs, taints and
    price, the same values of the labels that tasks select, and no speed of their own.

    Examples
    --------
    >>> nodes = [ClusterNode(name, cpu=4, memory_bytes=8, group="low") for name in "abc"]
    >>> node_classes(nodes, [], Speeds({("", "low"): 1.0, ("RF", "b"): 2.0}))
    [[0, 2], [1]]
    """
    named = {place for _, place in speeds.rates}
    keys: set[str] = set()
    for pipeline in pipelines:
        for task in pipeline.tasks:
            named.update(task.seconds)
            keys.update(task.selector)
    labels = sorted(keys)
    found: dict[object, list[int]] = {}
    for number, node in enumerate(nodes):
        alike = (
            node.name if node.name in named else "",
            node.group,
            node.architecture,
            node.cpu,
            node.memory_bytes,
            node.gpus,
            node.taints,
            node.price_usd_per_h,
            tuple(node.labels.get(key) for key in labels),
        )
        found.setdefault(alike, []).append(number)
    return list(found.values())
