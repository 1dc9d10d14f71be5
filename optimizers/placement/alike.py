"""Which machines of a cluster do for each other: those of a group, or those that are alike."""

from __future__ import annotations

from collections.abc import Mapping

from couler.cluster.earlier import INSTANCE_TYPE_LABEL
from couler.cluster.model import Cluster, ClusterNode
from couler.optimizers.placement.node_classes import size_of
from couler.optimizers.placement.selecting import GROUP_LABEL

__all__ = ["Peers", "peers_of"]


class Peers(tuple[ClusterNode, ...]):
    """Machines that do for each other, in the order of the cluster."""

    __slots__ = ()

    def __str__(self) -> str:
        first = self[0]
        if first.group or len(self) == 1:
            return first.group or first.name
        return f"{first.name} and {len(self) - 1:,} like it"


def peers_of(cluster: Cluster) -> Mapping[str, Peers]:
    """Return the machines that do for each machine, by its name, itself among them."""
    named = {speed.group for speed in cluster.speeds}
    found: dict[object, list[ClusterNode]] = {}
    for node in cluster.nodes:
        found.setdefault(_kind(node, named), []).append(node)
    peers = {kind: Peers(some) for kind, some in found.items()}
    return {node.name: peers[_kind(node, named)] for node in cluster.nodes}


def _kind(node: ClusterNode, named: set[str]) -> object:
    if node.group:
        return node.group
    return (
        node.name if node.name in named else "",
        node.labels.get(INSTANCE_TYPE_LABEL),
        node.labels.get(GROUP_LABEL),
        node.architecture,
        *size_of(node),
        node.gpus,
        node.taints,
        node.price_usd_per_h,
    )
