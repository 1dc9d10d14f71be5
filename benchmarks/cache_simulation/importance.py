"""What the importance factor of the Couler paper is made of: Equations 3 to 5 of section IV-A."""

from __future__ import annotations

import typing as t
from collections.abc import Collection, Iterator, Sequence, Set

from couler.caching.graph import ArtifactGraph
from couler.caching.importance import Reading

LAYERS = 2
"""The `n` of IV-A2, which the paper does not tell."""


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
    if reading == "repaired":
        counts = waiting
    elif any(waiting[1:2]):
        counts = every
    else:  # as printed, r is 0: no reader is left
        return 0.0
    adjacent = -1 if reading == "paper" else 1  # Eq. 5: `zeta_ui` of those that read it; else 0
    return sum(
        counts[distance] * ((distance == 1) * adjacent + 1) / distance
        for distance in range(1, len(counts))
    )


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


# what changes ------------------------------------------------------------------------------------


def stale_by_keeping(
    graph: ArtifactGraph, kept: Set[int], artifact: int, layers: int = LAYERS
) -> Set[int]:
    """Return of what `L` or `F` may change when an artifact is kept from now on, or no longer."""
    maker = graph.producer[artifact]
    if maker is None:
        return frozenset()
    seen = layer = set(graph.readers[artifact])
    for _ in range(layers):
        made = (output for job in layer for output in graph.outputs[job] if output not in kept)
        layer = {reader for output in made for reader in graph.readers[output]} - seen
        seen = seen | layer
    remade = {output for job in seen for output in graph.outputs[job]}
    return remade | stale_by_end(graph, kept, maker, layers - 1)


def stale_by_end(graph: ArtifactGraph, kept: Set[int], job: int, layers: int = LAYERS) -> Set[int]:
    """Return of what `F` may change when a job has ended: what it and those before it read."""
    found: set[int] = set()
    seen = layer = {job}
    for _ in range(layers):
        found.update(read for one in layer for read in graph.inputs[one])
        layer = {maker for one in layer for maker in makers_to_repeat(graph, kept, one)} - seen
        seen = seen | layer
    return found
