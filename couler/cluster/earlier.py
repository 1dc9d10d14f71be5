"""What was known of machines before, for what a live cluster does not tell."""

from __future__ import annotations

import typing as t
from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace

from couler.cluster.model import Cluster, ClusterNode

INSTANCE_TYPE_LABEL = "node.kubernetes.io/instance-type"
"""The label that names what a provider of machines calls their kind."""

T = t.TypeVar("T")


def keep_earlier(cluster: Cluster, earlier: Cluster) -> Cluster:
    """Return a cluster with prices, groups and types of GPUs that were known before."""
    prices = _Known(earlier.nodes, lambda node: node.price_usd_per_h)
    groups = _Known(earlier.nodes, lambda node: node.group or None)
    types = _Known(earlier.nodes, lambda node: (node.gpus and node.gpus.type) or None)
    nodes = []
    for node in cluster.nodes:
        price = node.price_usd_per_h
        gpus = node.gpus
        if gpus is not None and not gpus.type:
            gpus = replace(gpus, type=types.of(node) or "")
        nodes.append(
            replace(
                node,
                price_usd_per_h=prices.of(node) if price is None else price,
                group=node.group or groups.of(node) or "",
                gpus=gpus,
            )
        )
    places = {"", *(node.name for node in nodes), *(node.group for node in nodes)}
    return replace(
        earlier,
        nodes=tuple(nodes),
        name=cluster.name or earlier.name,
        speeds=tuple(speed for speed in earlier.speeds if speed.group in places),
    )


class _Known(t.Generic[T]):
    """One thing that is known of some nodes."""

    def __init__(
        self, nodes: Iterable[ClusterNode], get: Callable[[ClusterNode], T | None]
    ) -> None:
        self._by_name: dict[str, T] = {}
        by_type: dict[str, list[T]] = {}
        for node in nodes:
            value = get(node)
            if value is not None:
                self._by_name[node.name] = value
                by_type.setdefault(_type_of(node), []).append(value)
        self._by_type: Mapping[str, T] = {
            kind: values[0]
            for kind, values in by_type.items()
            if kind and all(value == values[0] for value in values)
        }

    def of(self, node: ClusterNode) -> T | None:
        """Return it for a node, if it is known."""
        found = self._by_name.get(node.name)
        return self._by_type.get(_type_of(node)) if found is None else found


def _type_of(node: ClusterNode) -> str:
    return node.labels.get(INSTANCE_TYPE_LABEL, "")
