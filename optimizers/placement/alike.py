"""Which machines of a cluster do for each other: those of a group, or those that are alike."""

from __future__ import annotations

from collections.abc import Mapping

from couler.cluster.earlier import INSTANCE_TYPE_LABEL
from couler.cluster.model import Cluster, ClusterNode
from couler.optimizers.placement.node_classes import size_of
from couler.optimizers.placement.selecting import GROUP_LABEL

__all__ = ["Peers", "peers_of"]


class Peers(tuple[ClusterNode, ...]):
    """Machines that do for each other, in the order of the cluster.

    Examples
    --------
    >>> print(Peers([ClusterNode("a", 4, 8), ClusterNode("b", 4, 8), ClusterNode("c", 4, 8)]))
    a and 2 like it
    """

    __slots__ = ()

    def __str__(self) -> str:
        first = self[0]
        if first.group or len(self) == 1:
            return first.group or first.name
        return f"{first.name} and {len(self) - 1:,} like it"


def peers_of(cluster: Cluster) -> Mapping[str, Peers]:
    """Return the machines that do for each machine, by its name, itself among them.

    They are those of its group. Of machines without a group they are the others without one that
    are alike: of the same instance type, architecture, GPUs, taints and price, of about the same
    processors and memory, without labels of different groups, and without a speed of their own in
    the description of the cluster. Speeds that earlier runs have shown tell no machines apart: each
    live one has one sooner or later.

    Examples
    --------
    >>> nodes = [ClusterNode("a", 4, 2**34), ClusterNode("b", 3.99, 2**34 - 4096),
    ...          ClusterNode("c", 64, 2**38)]
    >>> {name: str(peers) for name, peers in peers_of(Cluster(tuple(nodes))).items()}
    {'a': 'a and 1 like it', 'b': 'a and 1 like it', 'c': 'c'}
    """
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
