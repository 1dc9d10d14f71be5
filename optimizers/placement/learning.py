"""How fast machines have computed, by earlier runs, and stated speeds in the same unit."""

from __future__ import annotations

import statistics
import typing as t
from collections.abc import Collection, Iterable, Mapping, Sequence

from couler.cluster.model import Cluster, ClusterNode
from couler.ir.policies import Placement
from couler.operations.throughput import Measurement, Rate, learn_throughput
from couler.optimizers.base import Timed
from couler.optimizers.placement.speeds import Speeds

Learned: t.TypeAlias = Mapping[tuple[str, str], Rate]
"""Rates by the kind of model and the group, or the name of a machine that counts by itself."""

_REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"


def learn_speeds(
    timed: Iterable[Timed],
    cluster: Cluster,
    *,
    models: Collection[str] | None = None,
    gpu_models: Collection[str] = (),
    least: int = 1,
) -> Learned:
    """Return the speeds that earlier runs have shown, of the machines of a cluster."""
    groups = _Groups(cluster, gpu_models)
    found = [
        Measurement(one.operations, place, one.model, _seconds(one, cluster))
        for one in timed
        if (models is None or one.model in models)
        if (place := groups.of(one)) is not None
    ]
    return learn_throughput(found, least=least).learned


def place_of(node: ClusterNode, named: Collection[str]) -> str:
    """Return by what a speed of a machine is known: its group, or its own name."""
    return node.group if node.group and node.name not in named else node.name


class _Groups:
    """Finds what a measurement counts for."""

    def __init__(self, cluster: Cluster, gpu_models: Collection[str]) -> None:
        named = {speed.group for speed in cluster.speeds}
        self._nodes = cluster.nodes
        self._place = {node.name: place_of(node, named) for node in cluster.nodes}
        self._by_name = {node.name: node for node in cluster.nodes}
        self._gpu_models = frozenset(gpu_models)
        self._selected: dict[Placement, Sequence[ClusterNode]] = {}

    def of(self, one: Timed) -> str | None:
        """Return the group, or the name of a machine; None if it tells nothing."""
        nodes = self._where(one)
        if one.model in self._gpu_models and not one.has_gpus and any(node.gpus for node in nodes):
            return None
        places = {self._place[node.name] for node in nodes}
        return places.pop() if len(places) == 1 else None

    def _where(self, one: Timed) -> Sequence[ClusterNode]:
        if one.node in self._by_name:
            return (self._by_name[one.node],)
        if one.placement is None:
            return ()
        if one.placement not in self._selected:
            self._selected[one.placement] = _selected(one.placement, self._nodes)
        return self._selected[one.placement]


def _seconds(one: Timed, cluster: Cluster) -> float:
    start_s = 0.0 if one.placement is None else cluster.pod_start_s
    return max(0.0, one.seconds - start_s)


def _selected(placement: Placement, nodes: Iterable[ClusterNode]) -> Sequence[ClusterNode]:
    """Return the machines that selectors choose; none if they choose nothing, or cannot be read."""
    required = (placement.affinity.get("nodeAffinity") or {}).get(_REQUIRED) or {}
    terms = required.get("nodeSelectorTerms") or ()
    if not placement.node_selector and not terms:
        return ()
    chosen = []
    for node in nodes:
        if any(node.labels.get(key) != value for key, value in placement.node_selector.items()):
            continue
        is_in = _any([_meets(term, node) for term in terms]) if terms else True
        if is_in is None:
            return ()
        if is_in:
            chosen.append(node)
    return chosen


def _meets(term: Mapping[str, t.Any], node: ClusterNode) -> bool | None:
    """Return whether a machine meets a term of an affinity; None where that is not known."""
    found = [_has(one, node.labels) for one in term.get("matchExpressions") or ()]
    found += [
        _has(one, {"metadata.name": node.name} if not node.pool else {})
        for one in term.get("matchFields") or ()
    ]
    if not found or False in found:
        return False
    return None if None in found else True


def _has(expression: Mapping[str, t.Any], labels: Mapping[str, str]) -> bool | None:
    """Return whether labels are as an expression wants them."""
    value = labels.get(expression["key"])
    match expression["operator"]:
        case "In":
            return value in expression["values"]
        case "Exists":
            return value is not None
        case "NotIn" if value is not None:
            return value not in expression["values"]
        case "DoesNotExist" if value is not None:
            return False
    return None


def _any(found: Sequence[bool | None]) -> bool | None:
    if True in found:
        return True
    return None if None in found else False


class Scaled(t.NamedTuple):
    """A stated speed as it is taken."""

    model: str
    place: str
    """The group, or the machine that has speeds of its own."""
    stated: float
    """In operations a second."""
    factor: float | None
    """By what it is multiplied; None where nothing that was shown is stated as well."""

    @property
    def ops_per_s(self) -> float:
        """What is taken, in operations a second."""
        return self.stated * (self.factor or 1.0)


def stated_rates(cluster: Cluster) -> dict[tuple[str, str], float]:
    """Return what a cluster states, by kind of model and group; empty names are all."""
    return {(speed.model, speed.group): speed.operations_per_s for speed in cluster.speeds}


def scaled_speeds(cluster: Cluster, learned: Learned) -> tuple[Scaled, ...]:
    """Return the speeds of kinds of models that some groups have shown, of the other groups."""
    if not learned or not cluster.speeds:
        return ()
    speeds = Speeds(stated_rates(cluster))
    named = {speed.group for speed in cluster.speeds}
    samples = {place_of(node, named): node for node in cluster.nodes}
    found: list[Scaled] = []
    for model in dict.fromkeys(kind for kind, _ in learned):
        stated = {
            place: rate
            for place, node in samples.items()
            if (rate := speeds.rate(model, node)) is not None
        }
        ratios = [
            learned[model, place].ops_per_s / rate
            for place, rate in stated.items()
            if (model, place) in learned
        ]
        factor = statistics.median(ratios) if ratios else None
        found += [
            Scaled(model, place, rate, factor)
            for place, rate in stated.items()
            if (model, place) not in learned
        ]
    return tuple(found)


def speeds_of(cluster: Cluster, learned: Learned | None = None) -> Speeds:
    """Return what earlier runs and a cluster say of its speeds; nothing else is made up."""
    learned = learned or {}
    rates = stated_rates(cluster)
    scaled = scaled_speeds(cluster, learned)
    rates.update({(one.model, one.place): one.ops_per_s for one in scaled})
    rates.update({which: rate.ops_per_s for which, rate in learned.items()})
    return Speeds(rates, cluster.bandwidth_bytes_per_s, start_s=cluster.pod_start_s)
