"""Whose importance changes when an artifact is kept, is given up, or a job ends."""

from __future__ import annotations

import typing as t
from collections.abc import Iterable, Set

from couler.caching.graph import ArtifactGraph
from couler.caching.importance import LAYERS, makers_to_repeat

__all__ = ["Stale", "read_before", "stale_by_end", "stale_by_keeping"]


class Stale(t.NamedTuple):
    """The artifacts of which something may have changed."""

    reconstruction: frozenset[int] = frozenset()
    """Those whose `L` may have."""
    reuse: frozenset[int] = frozenset()
    """Those whose `F` may have."""


def stale_by_keeping(
    graph: ArtifactGraph, kept: Set[int], artifact: int, layers: int = LAYERS
) -> Stale:
    """Return what changes when an artifact is kept from now on, or no longer."""
    maker = graph.producer[artifact]
    if maker is None:
        return Stale()
    readers = _followers(graph, kept, graph.readers[artifact], layers)
    made = frozenset(output for job in readers for output in graph.outputs[job])
    return Stale(made, read_before(graph, kept, maker, layers - 1))


def stale_by_end(graph: ArtifactGraph, kept: Set[int], job: int, layers: int = LAYERS) -> Stale:
    """Return what changes when a job has ended: the reuse value of what it depends on."""
    return Stale(reuse=read_before(graph, kept, job, layers))


def read_before(graph: ArtifactGraph, kept: Set[int], job: int, layers: int) -> frozenset[int]:
    """Return what a job and those before it read: so many layers of jobs, with that one."""
    found: set[int] = set()
    seen = layer = {job}
    for _ in range(layers):
        found.update(read for one in layer for read in graph.inputs[one])
        layer = {maker for one in layer for maker in makers_to_repeat(graph, kept, one)} - seen
        seen = seen | layer
    return frozenset(found)


def _followers(graph: ArtifactGraph, kept: Set[int], jobs: Iterable[int], layers: int) -> set[int]:
    """Return jobs, and so many layers of those that read what they make and is not kept."""
    seen = layer = set(jobs)
    for _ in range(layers):
        made = (output for job in layer for output in graph.outputs[job] if output not in kept)
        layer = {reader for output in made for reader in graph.readers[output]} - seen
        seen = seen | layer
    return seen
