"""What each of several policies makes of one run, beside what a cache could make of it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from benchmarks.cache_simulation.engine import simulate
from benchmarks.cache_simulation.machine import Machine
from benchmarks.cache_simulation.report import Report
from benchmarks.cache_simulation.run_knowledge import GovernedCache
from couler.caching.graph import ArtifactGraph
from couler.caching.policies.simple import KeepNone
from couler.caching.policy import CachePolicy


@dataclass(frozen=True)
class Comparison:
    """Runs over a cache of one size."""

    capacity_bytes: int
    reports: Mapping[str, Report]
    without: Report
    least_read_s: float

    def saved(self, policy: str) -> float | None:
        """Return how much of the reading time that can be saved a policy saves."""
        possible = self.without.read_s - self.least_read_s
        if possible <= 0:
            return None
        return (self.without.read_s - self.reports[policy].read_s) / possible


def compare(
    graph: ArtifactGraph,
    policies: Mapping[str, CachePolicy],
    capacities: Sequence[int],
    machine: Machine,
    *,
    told_seconds: Sequence[float] | None = None,
) -> list[Comparison]:
    """Return what policies make of a run, for each size of the cache."""
    without = simulate(graph, GovernedCache(graph, 0, KeepNone(), machine), machine)
    least_s = least_read_s(graph, machine)
    found = []
    for capacity in capacities:
        reports = {}
        for name, policy in policies.items():
            cache = GovernedCache(graph, capacity, policy, machine, told_seconds=told_seconds)
            reports[name] = simulate(graph, cache, machine)
        found.append(Comparison(capacity, reports, without, least_s))
    return found


def least_read_s(graph: ArtifactGraph, machine: Machine) -> float:
    """Return the seconds of reading below which no policy comes, however large the cache is."""
    total = 0.0
    for size, maker, readers in zip(graph.size_bytes, graph.producer, graph.readers, strict=True):
        remote_s, cached_s = machine.remote.read_s(size), machine.cache.read_s(size)
        if maker is None or machine.misses == "reread":
            again_s = remote_s
        else:  # several outputs of a job are made again together
            again_s = graph.seconds[maker] / len(graph.outputs[maker])
        first_s = remote_s if maker is None else min(cached_s, again_s)
        if readers:
            total += first_s + (len(readers) - 1) * min(cached_s, again_s)
    return total
