"""How a pod is told on which nodes it may run: a label that they alone have, or their names."""

from __future__ import annotations

import functools
import operator
import re
import typing as t
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

from couler.cluster.model import Cluster, ClusterNode
from couler.cluster.values import check_label_key
from couler.errors import EngineOptionError
from couler.ir.policies import Toleration
from couler.optimizers.placement.pod_needs import ARCHITECTURE_LABEL, HOSTNAME_LABEL, OS_LABEL
from couler.optimizers.placement.requirements import tolerates

GROUP_LABEL = "couler.io/group"
"""The label by which nodes tell their group, where they have several that would do."""

Affinity: t.TypeAlias = dict[str, t.Any]

_Term: t.TypeAlias = Mapping[str, Sequence[str]]
"""Keys of labels, each with values of which a node has one."""

_REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"

_IDENTITY = re.compile(
    r"(?:^|.*[-_./])(?:instance|host|(?:node|host|machine|instance)[-_.]?(?:name|id)"
    r"|id|uid|uuid|serial|ip|mac)"
)
"""Keys of labels that tell one machine from all others, by what they are usually called."""


@dataclass(frozen=True, slots=True)
class Selection:
    """What is put into a pod."""

    labels: Mapping[str, str] = field(default_factory=dict)
    affinity: Affinity = field(default_factory=dict)

    def __str__(self) -> str:
        if self.labels:
            return ", ".join(f"{key}={value}" for key, value in self.labels.items())
        return " or ".join(_terms(self.affinity))


class Selectors:
    """Finds what selects nodes of a cluster."""

    def __init__(self, cluster: Cluster, group_label: str = "") -> None:
        if group_label:
            try:
                check_label_key(group_label)
            except ValueError as error:
                raise EngineOptionError(f"group_label: {error}") from error
        self._nodes = {node.name: node for node in cluster.nodes}
        self._labels = {node.name: _labels_of(node, group_label) for node in cluster.nodes}
        self._bits = {name: 1 << place for place, name in enumerate(self._nodes)}
        self._having: dict[tuple[str, str], int] = {}
        """The nodes that have each label, a bit for each."""
        own: dict[str, bool] = {}
        for name, labels in self._labels.items():
            for key, value in labels.items():
                self._having[key, value] = self._having.get((key, value), 0) | self._bits[name]
                own[key] = own.get(key, True) and value == name
        self._hosts = Counter(map(self._hostname, self._nodes))
        groups = {group_label, GROUP_LABEL}
        identities = {
            key
            for key in own
            if key not in groups and (own[key] or _IDENTITY.fullmatch(key.lower()))
        }

        def rank(key: str) -> tuple[bool, bool, bool, str]:
            return key in identities, key != group_label, key != GROUP_LABEL, key

        self._keys = sorted(own, key=rank)
        self._telling = [key for key in self._keys if key not in identities]
        self._groups = [key for key in self._keys if key in groups]

    def select(self, names: Collection[str]) -> Selection | None:
        """Return what selects some nodes and no others; None if nothing does."""
        there = set(names)
        wanted = [name for name in self._nodes if name in there]
        if len(wanted) == len(self._nodes):
            return Selection()
        named = self._by_names(wanted)
        found = self._by_one_key(wanted, self._groups) or self._by_one_key(wanted, self._telling)
        if found is None and len(wanted) == 1:
            found = named
        return (
            found
            or self._by_keys(wanted, self._telling)
            or self._by_terms(wanted, self._telling)
            or named
            or self._by_one_key(wanted, self._keys)
            or self._by_keys(wanted, self._keys)
            or self._by_terms(wanted, self._keys, with_names=True)
        )

    def prefer(self, names: Collection[str]) -> list[Affinity]:
        """Return the preferred terms of a node affinity for some nodes; none for those of pools."""
        if not names or not all(self._is_named(name) for name in names):
            return []
        expressions = [_expression(HOSTNAME_LABEL, self._hostnames(names))]
        return [{"weight": 100, "preference": {"matchExpressions": expressions}}]

    def labels_of(self, node: str) -> Mapping[str, str]:
        """Return the labels of a node, with those that need not be stated."""
        return self._labels[node]

    def labelled(self, cluster: Cluster) -> Cluster:
        """Return a cluster whose nodes have the labels that they have in any, beside the stated."""
        nodes = []
        for node in cluster.nodes:
            named = {} if node.pool else {HOSTNAME_LABEL: node.name}
            known = {OS_LABEL: "linux", **named, **self._labels[node.name]}
            nodes.append(replace(node, labels=known))
        return replace(cluster, nodes=tuple(nodes))

    def _by_names(self, wanted: Sequence[str]) -> Selection | None:
        if not all(self._is_told_by_name(name) for name in wanted):
            return None
        names = self._hostnames(wanted)
        if len(names) == 1 and HOSTNAME_LABEL in self._labels[wanted[0]]:
            return Selection({HOSTNAME_LABEL: names[0]})
        return Selection(affinity=_required([{HOSTNAME_LABEL: names}]))

    def _by_one_key(self, wanted: Sequence[str], keys: Sequence[str]) -> Selection | None:
        target = self._union(self._bits[name] for name in wanted)
        values = self._values(wanted, keys)
        having = {key: self._union(self._having[key, v] for v in values[key]) for key in values}
        fitting = [key for key in values if having[key] == target]
        first = next((key for key in fitting if len(values[key]) == 1), None)
        if first is not None:
            return Selection({first: values[first][0]})
        return (
            Selection(affinity=_required([{fitting[0]: values[fitting[0]]}])) if fitting else None
        )

    def _by_keys(self, wanted: Sequence[str], keys: Sequence[str]) -> Selection | None:
        target = self._union(self._bits[name] for name in wanted)
        values = self._values(wanted, keys)
        having = {key: self._union(self._having[key, v] for v in values[key]) for key in values}
        common = {key: some for key, some in having.items() if some & target == target}
        least = self._least(common, target)
        if not least:
            return None
        if all(len(values[key]) == 1 for key in least):
            return Selection({key: values[key][0] for key in least})
        return Selection(affinity=_required([{key: values[key] for key in least}]))

    def _by_terms(
        self, wanted: Sequence[str], keys: Sequence[str], *, with_names: bool = False
    ) -> Selection | None:
        """Return terms that select some of the nodes each, names among them or not."""
        target = left = self._union(self._bits[name] for name in wanted)
        terms: list[dict[str, list[str]]] = []
        named: list[str] = []
        for name in wanted:
            if not left & self._bits[name]:
                continue
            labels = self._labels[name]
            having = {key: self._having[key, labels[key]] for key in keys if key in labels}
            least = self._least(having, target)
            if least:
                terms.append({key: [labels[key]] for key in least})
                left &= ~functools.reduce(operator.and_, (having[key] for key in least))
            elif with_names and self._is_told_by_name(name):
                named.append(name)
            else:
                return None
        merged: dict[str, list[str]] = {}
        for term in terms:
            if len(term) == 1:
                [(key, values)] = term.items()
                merged.setdefault(key, []).extend(values)
        found: list[_Term] = [{key: sorted(values)} for key, values in merged.items()]
        found += [term for term in terms if len(term) > 1]
        if named:
            found.append({HOSTNAME_LABEL: self._hostnames(named)})
        return Selection(affinity=_required(found))

    def _least(self, having: Mapping[str, int], target: int) -> list[str]:
        """Keys that all together select nothing else, with none to spare; none if none do."""
        all_nodes = (1 << len(self._nodes)) - 1
        so_far = [all_nodes]
        for some in having.values():
            so_far.append(so_far[-1] & some)
        if so_far[-1] & ~target:
            return []
        found: list[str] = []
        rest = all_nodes
        for (key, some), before in reversed(list(zip(having.items(), so_far, strict=False))):
            if before & rest & ~target:
                found.append(key)
                rest &= some
        return found[::-1]

    def _values(self, wanted: Sequence[str], keys: Sequence[str]) -> dict[str, list[str]]:
        """Return the values that some nodes have of labels, in the order of these."""
        found: dict[str, set[str]] = {}
        for labels in (self._labels[name] for name in wanted):
            for key, value in labels.items():
                found.setdefault(key, set()).add(value)
        return {key: sorted(found[key]) for key in keys if key in found}

    @staticmethod
    def _union(some: Iterable[int]) -> int:
        return functools.reduce(operator.or_, some, 0)

    def _is_named(self, name: str) -> bool:
        """Return whether the name of a node is that of a machine, and not made up for a pool."""
        pool = self._nodes[name].pool
        is_numbered = bool(pool) and re.fullmatch(rf"{re.escape(pool)}-[0-9]+", name) is not None
        return HOSTNAME_LABEL in self._labels[name] or not is_numbered

    def _is_told_by_name(self, name: str) -> bool:
        """Return whether the name of a node tells it from all others."""
        return self._is_named(name) and self._hosts[self._hostname(name)] == 1

    def _hostnames(self, names: Collection[str]) -> list[str]:
        return sorted(map(self._hostname, names))

    def _hostname(self, name: str) -> str:
        return self._labels[name].get(HOSTNAME_LABEL, name)


def tolerations_for(
    nodes: Sequence[ClusterNode], own: Sequence[Toleration], may: Collection[str]
) -> tuple[Toleration, ...]:
    """Return what a pod has to tolerate besides, to run on any of some nodes."""
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


def _required(terms: Sequence[_Term]) -> Affinity:
    """Return the affinity for nodes of which one of some terms is true."""
    made = [
        {"matchExpressions": [_expression(key, values) for key, values in term.items()]}
        for term in terms
    ]
    return {"nodeAffinity": {_REQUIRED: {"nodeSelectorTerms": made}}}


def _expression(key: str, values: Sequence[str]) -> Affinity:
    return {"key": key, "operator": "In", "values": list(values)}


def _terms(affinity: Affinity) -> Iterator[str]:
    required = affinity.get("nodeAffinity", {}).get(_REQUIRED, {})
    for term in required.get("nodeSelectorTerms", ()):
        yield " and ".join(
            f"{one['key']} in {', '.join(one['values'])}" for one in term["matchExpressions"]
        )
