"""Stated speeds in the unit of those that earlier runs have shown."""

from __future__ import annotations

import statistics
import typing as t

from couler.cluster.model import Cluster
from couler.optimizers.placement.learning import Learned, place_of
from couler.optimizers.placement.speeds import Speeds

__all__ = ["Scaled", "scaled_speeds", "speeds_of", "stated_rates"]


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
