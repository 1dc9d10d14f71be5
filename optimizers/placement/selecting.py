"""How a pod is told on which nodes it may run: a label that they alone have, or their names."""

from __future__ import annotations

import typing as t
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from couler.cluster.model import Cluster, ClusterNode
from couler.ir.policies import Toleration
from couler.optimizers.placement.requirements import tolerates
from couler.optimizers.placement.workload import ARCHITECTURE_LABEL, HOSTNAME_LABEL

__all__ = ["GROUP_LABEL", "Selection", "Selectors", "tolerations_for"]

GROUP_LABEL = "couler.io/group"
"""The label by which nodes tell their group, where they have several that would do."""

Affinity: t.TypeAlias = dict[str, t.Any]


@dataclass(frozen=True, slots=True)
class Selection:
    """What is put into a pod.

    Attributes
    ----------
    labels
        Its node selector.
    affinity
        Its affinity, as Kubernetes writes it; empty for none.
    """

    labels: Mapping[str, str] = field(default_factory=dict)
    affinity: Affinity = field(default_factory=dict)

    def __str__(self) -> str:
        if self.labels:
            return ", ".join(f"{key}={value}" for key, value in self.labels.items())
        return " and ".join(_terms(self.affinity))


class Selectors:
    """Finds what selects nodes of a cluster.

    Parameters
    ----------
    cluster
        The nodes. Each has the label `kubernetes.io/arch` of its architecture, stated or not.
    group_label
        The label whose value is the group of a node, stated for the nodes or not; empty where there
        is no such label but those that are stated.
    """

    def __init__(self, cluster: Cluster, group_label: str = "") -> None:
        self._nodes = {node.name: node for node in cluster.nodes}
        self._labels = {node.name: _labels_of(node, group_label) for node in cluster.nodes}
        self._having: dict[tuple[str, str], set[str]] = {}
        for name, labels in self._labels.items():
            for pair in labels.items():
                self._having.setdefault(pair, set()).add(name)

    def select(self, names: Collection[str]) -> Selection | None:
        """Return what selects some nodes and no others; None if nothing does.

        One label that they alone have is a node selector: that of their group before others, these
        in the order of their names. Several values of one label, each of which some of them alone
        have, are a required node affinity, and so are their names in the cluster. Nodes of pools
        have no names, as their numbers are made up.

        Examples
        --------
        >>> low = [ClusterNode(f"low-{i}", 4, 2**34, "low", "low", labels={"zone": "a"})
        ...        for i in (1, 2)]
        >>> big = ClusterNode("big", 64, 2**38, "gpu", labels={"zone": "b"})
        >>> selectors = Selectors(Cluster((*low, big)))
        >>> selectors.select(["low-1", "low-2"]).labels
        {'zone': 'a'}
        >>> selectors.select(["low-1"]) is None
        True
        >>> other = ClusterNode("other", 4, 2**34, "spare")
        >>> print(Selectors(Cluster((*low, big, other)), "team").select(["low-1", "big", "low-2"]))
        team in gpu, low
        """
        wanted = set(names)
        if len(wanted) == len(self._nodes):
            return Selection()
        found = self._by_one_label(wanted) or self._by_values(wanted)
        if found is not None or not all(self._is_named(name) for name in wanted):
            return found
        return Selection(affinity=_required(HOSTNAME_LABEL, self._hostnames(wanted)))

    def prefer(self, names: Collection[str]) -> list[Affinity]:
        """Return the preferred terms of a node affinity for some nodes; none for those of pools."""
        if not names or not all(self._is_named(name) for name in names):
            return []
        expressions = [_expression(HOSTNAME_LABEL, self._hostnames(names))]
        return [{"weight": 100, "preference": {"matchExpressions": expressions}}]

    def labels_of(self, node: str) -> Mapping[str, str]:
        """Return the labels of a node, with those that need not be stated."""
        return self._labels[node]

    def _by_one_label(self, wanted: set[str]) -> Selection | None:
        first = next(iter(wanted))
        pairs = sorted(self._labels[first].items(), key=_rank)
        for pair in pairs:
            if self._having[pair] == wanted:
                return Selection(dict([pair]))
        return None

    def _by_values(self, wanted: set[str]) -> Selection | None:
        keys = sorted({key for name in wanted for key in self._labels[name]}, key=_rank_of_key)
        for key in keys:
            values = {self._labels[name].get(key) for name in wanted} - {None}
            having = set[str]().union(*(self._having[key, str(value)] for value in values))
            if key != HOSTNAME_LABEL and having == wanted:
                return Selection(affinity=_required(key, sorted(map(str, values))))
        return None

    def _is_named(self, name: str) -> bool:
        return HOSTNAME_LABEL in self._labels[name] or not self._nodes[name].pool

    def _hostnames(self, names: Collection[str]) -> list[str]:
        return sorted(self._labels[name].get(HOSTNAME_LABEL, name) for name in names)


def tolerations_for(
    nodes: Sequence[ClusterNode], own: Sequence[Toleration], may: Collection[str]
) -> tuple[Toleration, ...]:
    """Return what a pod has to tolerate besides, to run on any of some nodes.

    Parameters
    ----------
    nodes
        Where it may run.
    own
        What it tolerates anyway.
    may
        Keys of taints that may be tolerated for it.
    """
    made: dict[tuple[str, str, str], Toleration] = {}
    for taint in (taint for node in nodes for taint in node.taints):
        if taint.key in may and not tolerates(own, taint):
            made[taint.key, taint.value, taint.effect] = Toleration(
                key=taint.key,
                operator="Equal" if taint.value else "Exists",
                value=taint.value or None,
                effect=taint.effect,
            )
    return tuple(made.values())


def _labels_of(node: ClusterNode, group_label: str) -> dict[str, str]:
    named = {group_label: node.group} if group_label and node.group else {}
    return {ARCHITECTURE_LABEL: node.architecture, **named, **node.labels}


def _rank(pair: tuple[str, str]) -> tuple[int, str]:
    return _rank_of_key(pair[0])


def _rank_of_key(key: str) -> tuple[int, str]:
    return (0 if key == GROUP_LABEL else 2 if key == HOSTNAME_LABEL else 1), key


def _required(key: str, values: Sequence[str]) -> Affinity:
    terms = [{"matchExpressions": [_expression(key, values)]}]
    return {
        "nodeAffinity": {
            "requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": terms}
        }
    }


def _expression(key: str, values: Sequence[str]) -> Affinity:
    return {"key": key, "operator": "In", "values": list(values)}


def _terms(affinity: Affinity) -> Iterator[str]:
    required = affinity.get("nodeAffinity", {}).get(
        "requiredDuringSchedulingIgnoredDuringExecution", {}
    )
    for term in required.get("nodeSelectorTerms", ()):
        for one in term["matchExpressions"]:
            yield f"{one['key']} in {', '.join(one['values'])}"
