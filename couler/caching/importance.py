"""The caching importance factor of the Couler paper: Equations 3 to 6 of section IV-A."""
# Couler: Unified Machine Learning Workflow Optimization in Cloud, IV-A.

from __future__ import annotations

import math
import typing as t
from collections.abc import Collection, Iterator, Sequence, Set
from dataclasses import dataclass

from couler.caching.graph import ArtifactGraph

__all__ = [
    "ALPHA",
    "BETA",
    "LAYERS",
    "ImportanceFactor",
    "Moment",
    "Reading",
    "Score",
    "caching_cost",
    "dependency_weight",
    "importance",
    "jobs_that_depend",
    "jobs_to_repeat",
    "reconstruction_cost",
    "reuse_value",
    "value_of_counts",
]

Reading: t.TypeAlias = t.Literal["paper", "repaired"]
"""How the equations are read: as printed, or with their slips mended."""

LAYERS = 2
"""The `n` of IV-A2, which the paper does not tell."""

ALPHA = 1.5
"""Weight of the reconstruction cost in Eq. 6, as in the paper's experiments (VI-C1)."""

BETA = 1.0
"""Weight of the reuse value in Eq. 6, as in the paper's experiments (VI-C1)."""


class Moment(t.NamedTuple):
    """What has come of a run so far, by the numbers of an `ArtifactGraph`."""

    kept: Set[int] = frozenset()
    """The artifacts that the cache holds."""
    ended: Set[int] = frozenset()
    """The jobs that have ended, and need not run any more."""


def reconstruction_cost(
    graph: ArtifactGraph,
    moment: Moment,
    artifact: int,
    *,
    reading: Reading = "repaired",
    layers: int = LAYERS,
) -> float:
    """Return the reconstruction cost `L(u)`: what making an artifact again would take."""
    # Eq. 3.
    _check(reading, layers)
    jobs = jobs_to_repeat(graph, moment.kept, artifact, layers)
    weight = graph.resources
    is_printed = reading == "paper"
    cost = 0.0 if is_printed else sum(weight[job] for job in jobs)
    for maker, reader in _edges(graph, moment.kept, jobs):
        cost += _degree(graph, maker) * _degree(graph, reader)
        if is_printed:
            cost += weight[maker]
    return cost


def reuse_value(
    graph: ArtifactGraph,
    moment: Moment,
    artifact: int,
    *,
    reading: Reading = "repaired",
    layers: int = LAYERS,
) -> float:
    """Return the reuse value `F(u)`: how much is still to come that depends on an artifact."""
    # Eq. 4.
    _check(reading, layers)
    every = [0] * (layers + 1)
    waiting = [0] * (layers + 1)
    for job, distance in jobs_that_depend(graph, moment.kept, artifact, layers).items():
        every[distance] += 1
        waiting[distance] += job not in moment.ended
    return value_of_counts(every, waiting, reading=reading)


def value_of_counts(
    every: Sequence[int], waiting: Sequence[int], *, reading: Reading = "repaired"
) -> float:
    """Return the reuse value by the numbers of jobs in `G_s` at each distance from 0 on."""
    _check(reading)
    if reading == "repaired":
        counts = waiting
    elif any(waiting[1:2]):
        counts = every
    else:  # as printed, r is 0: no reader is left
        return 0.0
    return sum(
        counts[distance] * (dependency_weight(int(distance == 1), reading=reading) + 1) / distance
        for distance in range(1, len(counts))
    )


def dependency_weight(adjacent: int, degree: int = 0, *, reading: Reading = "repaired") -> int:
    """Return `zeta_ui`: how much a job depends on an artifact by the edge between them."""
    # Eq. 5.
    _check(reading)
    return degree - adjacent if reading == "paper" else adjacent


def caching_cost(size_bytes: int, capacity_bytes: int, *, reading: Reading = "repaired") -> float:
    """Return the caching cost `V(u)`: the memory that keeping an artifact takes."""
    # IV-A2, which gives no equation and no unit; Algorithm 2, line 18.
    _check(reading)
    if capacity_bytes <= 0:
        raise ValueError(f"capacity_bytes is {capacity_bytes}; it must be above 0")
    return float(size_bytes) if reading == "paper" else size_bytes / capacity_bytes


def importance(
    reconstruction: float,
    reuse: float,
    caching: float,
    *,
    reading: Reading = "repaired",
    alpha: float = ALPHA,
    beta: float = BETA,
) -> float:
    """Return the importance factor `I(u)`: what has the least of it is given up first."""
    # Eq. 6; `alpha` and `beta` from VI-C1.
    _check(reading)
    penalty = math.exp(-caching) if reading == "paper" else -math.expm1(-caching)
    return alpha * math.log1p(reconstruction) + beta * reuse**2 - penalty


class Score(t.NamedTuple):
    """The importance factor of an artifact, and what it is made of."""

    reconstruction: float
    reuse: float
    caching: float
    importance: float


@dataclass(frozen=True, slots=True)
class ImportanceFactor:
    """The equations with all that can be chosen about them."""

    reading: Reading = "repaired"
    layers: int = LAYERS
    alpha: float = ALPHA
    beta: float = BETA

    def score(
        self, graph: ArtifactGraph, moment: Moment, artifact: int, capacity_bytes: int
    ) -> Score:
        """Return the importance factor of an artifact (Algorithm 2, lines 18 to 21)."""
        how: t.Any = {"reading": self.reading, "layers": self.layers}
        cost = reconstruction_cost(graph, moment, artifact, **how)
        reuse = reuse_value(graph, moment, artifact, **how)
        size = caching_cost(graph.size_bytes[artifact], capacity_bytes, reading=self.reading)
        return Score(
            cost,
            reuse,
            size,
            importance(cost, reuse, size, reading=self.reading, alpha=self.alpha, beta=self.beta),
        )


# subgraphs --------------------------------------------------------------------------------------


def jobs_to_repeat(
    graph: ArtifactGraph, kept: Set[int], artifact: int, layers: int = LAYERS
) -> dict[int, int]:
    """Return the jobs of `G_p`, each with its layer: 0 for the one that makes the artifact."""
    maker = graph.producer[artifact]
    found = {} if maker is None else {maker: 0}
    layer = list(found)
    for number in range(1, layers + 1):
        layer = list(
            dict.fromkeys(
                before
                for job in layer
                for before in makers_to_repeat(graph, kept, job)
                if before not in found
            )
        )
        found.update(dict.fromkeys(layer, number))
    return found


def jobs_that_depend(
    graph: ArtifactGraph, kept: Set[int], artifact: int, layers: int = LAYERS
) -> dict[int, int]:
    """The jobs of `G_s`, each with its distance `kappa`: 1 for those that read the artifact."""
    found: dict[int, int] = {}
    layer: Collection[int] = graph.readers[artifact]
    for number in range(1, layers + 1):
        found.update(dict.fromkeys(layer, number))
        if number == layers:
            break
        layer = {
            after
            for job in layer
            for output in graph.outputs[job]
            if output not in kept
            for after in graph.readers[output]
            if after not in found
        }
    return found


def makers_to_repeat(graph: ArtifactGraph, kept: Set[int], job: int) -> Iterator[int]:
    """Yield who makes what a job reads that is not kept; once for each such artifact."""
    producer = graph.producer
    for read in graph.inputs[job]:
        maker = producer[read]
        if maker is not None and read not in kept:
            yield maker


def _edges(
    graph: ArtifactGraph, kept: Set[int], jobs: Collection[int]
) -> Iterator[tuple[int, int]]:
    """Yield who makes and who reads, for each pair of jobs between which something is not kept."""
    for reader in jobs:
        for maker in dict.fromkeys(makers_to_repeat(graph, kept, reader)):
            if maker in jobs:
                yield maker, reader


def _degree(graph: ArtifactGraph, job: int) -> int:
    return len(graph.predecessors[job]) + len(graph.successors[job])


def _check(reading: Reading, layers: int = 0) -> None:
    if reading not in ("paper", "repaired"):
        raise ValueError(f"{reading!r} is no reading; there are: paper, repaired")
    if layers < 0:
        raise ValueError(f"layers is {layers}; it must be at least 0")
