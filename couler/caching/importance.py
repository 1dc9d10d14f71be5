"""The caching importance factor of the Couler paper: Equations 3 to 6 of section IV-A.

They are here in two readings. `paper` is what is printed, where that can be computed.
`repaired` is what the text around it asks for. Neither has consistent units: resources are added to
degrees, and counts to a share. What is ambiguous in both is decided alike:

- The nodes of the graph are jobs. The node of an artifact `u` is the job that makes it.
- The edges of the subgraphs `G_p` and `G_s` are reads of artifacts. Who waits for a job and reads
  nothing of it needs no artifact of it. An edge is cut where the artifact that is read is kept: the
  paper truncates "at that point". So a job of which only some artifacts are kept counts
  for readers of the others. Whether `u` itself is kept plays no part.
- `A` is directed, from who makes to who reads, and 1 however many artifacts are read.
- `d` is the degree in the whole graph, what waits included, in both directions.
- `n` is 2 layers if nothing else is said.
- Logarithms are natural.

References
----------
Couler: Unified Machine Learning Workflow Optimization in Cloud, IV-A.
"""

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
    """What has come of a run so far, by the numbers of an `ArtifactGraph`.

    Sets that change while the run goes on may be given: nothing is remembered of them.
    """

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
    """Return the reconstruction cost `L(u)`: what making an artifact again would take.

    Parameters
    ----------
    graph
        Its `resources` are the weights `w`.
    moment
        What is kept cuts the subgraph.
    artifact
        The number of `u`. One that no job makes costs 0.
    reading
        `paper` or `repaired`.
    layers
        How many layers of jobs before that which makes `u` are looked at, at least 0.

    Returns
    -------
    float
        In the units of `graph.resources`, to which products of degrees are added.

    Raises
    ------
    ValueError
        `layers` is negative, or the reading is none.

    Notes
    -----
    `G_p` is the job that makes `u`, and n layers of jobs before it (`jobs_to_repeat`).

    As printed, `L(u) = sum over i, j of A_ij (w_i + d_i d_j)`. A job is paid once for each
    job of `G_p` that reads from it, so the one that makes `u` never is, and `L` is 0 if what that
    reads is kept, or if it reads nothing. Repaired, `L(u) = sum over i of w_i + sum over i, j of
    A_ij d_i d_j`: each job is paid once, however many read from it.

    O(reads of the jobs in `G_p`). Where one artifact is kept or given up, this changes for all that
    is made of it within the layers: for as many as read it, at least. That lies in the equation,
    and so a cache that keeps and gives up again what n jobs read asks for O(n) worths each time.

    References
    ----------
    Eq. 3.

    Examples
    --------
    >>> graph = ArtifactGraph(("load", "fit"), ("data", "model"), (0, 1), ((1,), ()), (9, 1),
    ...                       seconds=(5.0, 60.0), resources=(5.0, 60.0))
    >>> [reconstruction_cost(graph, Moment(), 1, reading=way) for way in ("paper", "repaired")]
    [6.0, 66.0]
    >>> kept = Moment(kept={0})
    >>> [reconstruction_cost(graph, kept, 1, reading=way) for way in ("paper", "repaired")]
    [0.0, 60.0]
    """
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
    """Return the reuse value `F(u)`: how much is still to come that depends on an artifact.

    Parameters
    ----------
    graph, artifact, reading, layers
        As for `reconstruction_cost`; the layers are those of jobs after `u`, its readers the first.
    moment
        What is kept cuts the subgraph, and jobs that have ended reuse nothing.

    Returns
    -------
    float
        A number without unit, at least 0.

    Raises
    ------
    ValueError
        `layers` is negative, or the reading is none.

    Notes
    -----
    `F(u) = sum over i in G_s of r / kappa_ui (zeta_ui + 1)`, where `kappa` counts the reads on the
    shortest way from `u` to `i`, 1 for a reader, and `zeta` is that of `dependency_weight`. The
    node of `u` itself, at distance 0, is left out.

    As printed, `r` is a state of `u`: 1 while a job that reads it has not ended. A reader has
    weight 0 then, and only jobs further on count; with one layer `F` is 0. Were `r` 1 for readers
    alone, `F` would always be 0. Repaired, `r_ui` is 1 while `i` has not ended, and a reader has
    weight 2.

    O(reads of the artifacts that the jobs in `G_s` make).

    References
    ----------
    Eq. 4.

    Examples
    --------
    >>> graph = ArtifactGraph(("a", "b", "c"), ("x", "y"), (0, 1), ((1,), (2,)), (1, 1),
    ...                       seconds=(1.0, 1.0, 1.0))
    >>> [reuse_value(graph, Moment(), 0, reading=way) for way in ("paper", "repaired")]
    [0.5, 2.5]
    >>> [reuse_value(graph, Moment(ended={0, 1}), 0, reading=way) for way in ("paper", "repaired")]
    [0.0, 0.5]
    """
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
    """Return the reuse value by the numbers of jobs in `G_s` at each distance from 0 on.

    Parameters
    ----------
    every
        How many there are.
    waiting
        How many of them have not ended.
    reading
        `paper` or `repaired`.

    Raises
    ------
    ValueError
        The reading is none.
    """
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
    """Return `zeta_ui`: how much a job depends on an artifact by the edge between them.

    Parameters
    ----------
    adjacent
        `A_ui`: 1 if job `i` reads artifact `u`, else 0.
    degree
        The entry of `diag[d_1, ..., d_n]`: the degree of `i` if it is the node of `u`, else 0.
    reading
        `paper` or `repaired`.

    Raises
    ------
    ValueError
        The reading is none.

    Notes
    -----
    As printed, `zeta = diag[d_1, ..., d_n] - A`, the Laplacian of the graph: -1 for a job that
    reads `u`, and 0 for one further on. In Eq. 4 the factor `zeta + 1` of a reader is 0 then, the
    least of all. Repaired, `zeta = A`: 1 for a reader, 0 further on.

    References
    ----------
    Eq. 5.

    Examples
    --------
    >>> [dependency_weight(1, reading=reading) for reading in ("paper", "repaired")]
    [-1, 1]
    """
    _check(reading)
    return degree - adjacent if reading == "paper" else adjacent


def caching_cost(size_bytes: int, capacity_bytes: int, *, reading: Reading = "repaired") -> float:
    """Return the caching cost `V(u)`: the memory that keeping an artifact takes.

    Returns
    -------
    float
        As printed in bytes; repaired as a share of what the cache holds.

    Raises
    ------
    ValueError
        The capacity is not above 0, or the reading is none.

    References
    ----------
    IV-A2, which gives no equation and no unit; Algorithm 2, line 18.
    """
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
    """Return the importance factor `I(u)`: what has the least of it is given up first.

    Parameters
    ----------
    reconstruction, reuse, caching
        `L(u)`, `F(u)` and `V(u)`, each at least 0 and in the same reading.
    reading
        `paper` or `repaired`.
    alpha, beta
        The weights of `L` and of `F`.

    Raises
    ------
    ValueError
        The reading is none.

    Notes
    -----
    As printed, `I = alpha log(1 + L) + beta F^2 - exp(-V)`. What is subtracted falls as artifacts
    become larger, from 1 for an empty one, and for `V` in bytes it is 0 for all above a
    kilobyte, so that size plays no part. Repaired,
    `I = alpha log(1 + L) + beta F^2 - (1 - exp(-V))`: the same term with its sign turned, and one
    that does not depend on `u`.

    References
    ----------
    Eq. 6; `alpha` and `beta` from VI-C1.

    Examples
    --------
    >>> importance(0.0, 0.0, 0.0, reading="paper"), importance(0.0, 0.0, 0.0)
    (-1.0, 0.0)
    >>> importance(0.0, 1.0, 5000.0, reading="paper") == importance(0.0, 1.0, 9e9, reading="paper")
    True
    """
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
    """The equations with all that can be chosen about them.

    Attributes
    ----------
    reading
        `paper` or `repaired`.
    layers
        How far the subgraphs of Eq. 3 and 4 reach.
    alpha, beta
        The weights of Eq. 6.
    """

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
    """Return the jobs of `G_p`, each with its layer: 0 for the one that makes the artifact.

    Not among them is one of which all that they read is kept. O(reads of these jobs).
    """
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
    """Return the jobs of `G_s`, each with its distance `kappa`: 1 for those that read the artifact.

    O(reads of the artifact and of what these jobs make).
    """
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
