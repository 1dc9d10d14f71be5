"""What each of several policies makes of one run, beside what a cache could make of it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from couler.caching.graph import ArtifactGraph
from couler.caching.policies.none import KeepNone
from couler.caching.policy import CachePolicy
from couler.caching.simulation.engine import simulate
from couler.caching.simulation.governed import GovernedCache
from couler.caching.simulation.machine import Machine
from couler.caching.simulation.report import Report

__all__ = ["Comparison", "compare", "least_read_s"]


@dataclass(frozen=True)
class Comparison:
    """Runs over a cache of one size.

    Attributes
    ----------
    capacity_bytes
        What the cache may hold.
    reports
        The run under each policy, by its name.
    without
        The run without a cache.
    least_read_s
        Less than which reading takes under no policy, whatever the cache may hold.
    """

    capacity_bytes: int
    reports: Mapping[str, Report]
    without: Report
    least_read_s: float

    def saved(self, policy: str) -> float | None:
        """Return how much of the reading time that can be saved a policy saves.

        Returns
        -------
        float or None
            At most 1; below 0 where it costs more than no cache. None if nothing can be saved.
        """
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
    """Return what policies make of a run, for each size of the cache.

    Parameters
    ----------
    graph
        The run, with the true seconds of its n jobs.
    policies
        By the names under which they are told of.
    capacities
        Sizes of the cache, in bytes.
    machine
        What the run has to work with.
    told_seconds
        How long the policies are told that the n jobs take; None if they are not told.

    Examples
    --------
    >>> from couler.caching.registry import read_policy
    >>> from couler.caching.simulation import Storage
    >>> graph = ArtifactGraph(
    ...     jobs=("load", "fit", "test"), artifacts=("data", "model"), producer=(0, 1),
    ...     readers=((1, 2), (2,)), size_bytes=(1000, 10), seconds=(5.0, 60.0, 1.0),
    ... )
    >>> machine = Machine(workers=1, remote=Storage(0.5, 100.0))
    >>> policies = {name: read_policy(name) for name in ("lru", "next-use")}
    >>> (found,) = compare(graph, policies, [10], machine)
    >>> found.without.read_s, found.least_read_s
    (21.6, 0.0)
    >>> {name: round(found.saved(name), 2) for name in policies}
    {'lru': 0.03, 'next-use': 0.03}
    """
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
    """Return the seconds of reading below which no policy comes, however large the cache is.

    Notes
    -----
    What comes from outside is fetched once if anyone reads it. Every other read takes no less than
    one from the cache; or, if that is less, from the remote store where misses are read again, or
    its part of the job that makes it where they are made again. O(n) for n artifacts.

    It says nothing of a cache of a given size. That limit is the solution of a linear program.

    Examples
    --------
    >>> from couler.caching.simulation import Storage
    >>> graph = ArtifactGraph(("a", "b"), ("raw",), (None,), ((0, 1),), (100,), (1.0, 1.0))
    >>> least_read_s(graph, Machine(remote=Storage(1, 10), cache=Storage(0, 100)))
    12.0
    """
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
