"""A cache that a policy governs, in a simulated run."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace

from benchmarks.cache_simulation.cache import BudgetedCache
from benchmarks.cache_simulation.machine import Machine
from benchmarks.cache_simulation.run_knowledge import RunKnowledge
from benchmarks.cache_simulation.schedule import RunSchedule
from couler.caching.graph import ArtifactGraph
from couler.caching.policy import CachePolicy


class GovernedCache:
    """What a policy keeps, of what it can know while a run is under way."""

    def __init__(
        self,
        graph: ArtifactGraph,
        capacity_bytes: int,
        policy: CachePolicy,
        machine: Machine,
        *,
        told_seconds: Sequence[float] | None = None,
    ) -> None:
        self._graph = graph
        self._outlook = _outlook(graph, machine, told_seconds)
        self._cache = BudgetedCache(capacity_bytes, policy, self._outlook)

    @property
    def used_bytes(self) -> int:
        """What is held, in bytes."""
        return self._cache.used_bytes

    def holds(self, artifact: int) -> bool:
        """Return whether an artifact can be read from the cache."""
        return self._graph.artifacts[artifact] in self._cache

    def access(self, artifact: int) -> None:
        """Note that an artifact that is held is read, as an input or to make another one again."""
        self._cache.access(self._graph.artifacts[artifact])

    def start(self, job: int) -> None:
        """Note that a job has begun, and that what it needs of the cache has been read."""
        self._cache.refresh(self._outlook.start(job))

    def offer(self, artifact: int) -> bool:
        """Return whether the cache holds an artifact from now on; others may go for it."""
        return self._cache.offer(self._graph.artifacts[artifact]).admitted

    def end(self, job: int) -> None:
        """Note that a job has ended, and that its outputs are there."""
        self._cache.refresh(self._outlook.end(job))


def _outlook(
    graph: ArtifactGraph, machine: Machine, told_seconds: Sequence[float] | None
) -> RunKnowledge:
    """Return what is known of a run before it starts."""
    schedule = RunSchedule(graph, machine.workers, told_seconds)
    seconds = (1.0,) * len(graph.jobs) if told_seconds is None else tuple(told_seconds)
    is_reread = machine.misses == "reread"
    read_s = [
        machine.remote.read_s(size) if is_reread or maker is None else math.inf
        for size, maker in zip(graph.size_bytes, graph.producer, strict=True)
    ]
    # Where misses are read again nothing is ever made again, however quick that would be.
    remaking = (math.inf,) * len(graph.jobs) if is_reread else seconds
    return RunKnowledge(replace(graph, seconds=remaking), order=schedule, read_s=read_s)
