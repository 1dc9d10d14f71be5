"""Runs of workflows over caches, policy by policy, and what is measured of them."""

from __future__ import annotations

import random
import typing as t
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from benchmarks.cache_simulation import GovernedCache, Machine, Report, Storage, simulate
from benchmarks.cache_simulation.artifact_graph import artifact_graph
from couler.caching.graph import ArtifactGraph
from couler.caching.policies.simple import KeepNone
from couler.caching.policy import CachePolicy
from couler.caching.registry import read_policy
from workloads import bounds, scenarios
from workloads.clairvoyant import Belady

REMOTE = Storage(0.5, 100e6, 100e6)
WORKERS = 8
SHARES = (0.02, 0.05, 0.2)
SCENARIO_CACHE = Storage(0.01, 1e9, 1e9)

SMALL = 120
"""So many steps a workflow has at most for which the best cache of whole artifacts is looked for,
and which is run with reading that holds it up."""

LARGE = 700
"""On larger workflows, in some of which a thousand steps share an input, the policies of `SLOW` are
tried only if that is asked for."""

SLOW = ("couler-paper", "couler")
"""Policies that look at what is around an artifact, and take minutes where that is all steps."""

DEFAULT = "next-use"
TIMED = "next-use, times"
ALL = "all"
CLOSED = 1e-4
"""The gap below which an integer program counts as solved."""

NOISE = 1.0
"""The sigma of the logarithm of how wrong run times are, in one row."""


@dataclass(frozen=True)
class Contender:
    """A policy, and what it is told.

    Attributes
    ----------
    tell
        Gives from a graph, and a seed for it, how long the policy is told that its jobs take.
    """

    name: str
    policy: CachePolicy
    tell: Callable[[ArtifactGraph, str], Sequence[float] | None]


def no_seconds(graph: ArtifactGraph, seed: str) -> None:
    return None


def true_seconds(graph: ArtifactGraph, seed: str) -> Sequence[float]:
    return graph.seconds


def wrong_seconds(graph: ArtifactGraph, seed: str) -> Sequence[float]:
    draw = random.Random(seed)
    return [seconds * draw.lognormvariate(0, NOISE) for seconds in graph.seconds]


def contenders() -> tuple[Contender, ...]:
    """Return what is compared, in the order of the tables."""
    plain = ("none", ALL, "fifo", "lru", "gdsf", "lrc", "lrc-density", "couler-paper", "couler")
    return (
        *(Contender(name, read_policy(name), no_seconds) for name in (*plain, DEFAULT)),
        Contender(f"{DEFAULT}, wrong times", read_policy(DEFAULT), wrong_seconds),
        Contender(TIMED, read_policy(DEFAULT), true_seconds),
        Contender("belady", Belady(), true_seconds),
        Contender("belady-size", Belady(by_size=True), true_seconds),
    )


Key: t.TypeAlias = tuple[str, str, str, str]
"""Scenario, what happens to misses, cache, and policy."""


@dataclass(frozen=True)
class Row:
    """One policy on one workflow with one cache."""

    family: str
    """`real`, or `scenario`."""
    name: str
    jobs: int
    misses: str
    cache: str
    """Its size, as it is told: a share of all artifacts, or gigabytes."""
    capacity_bytes: int
    artifact_bytes: int
    policy: str
    share: float | None
    """Of what can be saved, what is saved; None if no limit is known, or nothing can be saved."""
    cost: float
    """Of reading, over that without a cache."""
    hits: float
    seconds: float | None
    """Of a run that reading holds up, as all below; None if there was no such run."""
    time: float | None
    """Seconds over those without a cache."""
    peak_bytes: int | None
    mean_bytes: float | None


@dataclass(frozen=True)
class Limit:
    """What can be saved of reading at most, in seconds."""

    name: str
    cache: str
    cost_s: float
    """Of reading without a cache."""
    linear_s: float
    """More than which no cache saves."""
    integral_s: float | None
    """What the best one saves; None where that was not found in time."""


@dataclass(frozen=True)
class Case:
    """A workflow with one cache size, and its runs without a cache."""

    family: str
    name: str
    graph: ArtifactGraph
    machine: Machine
    cache: str
    capacity_bytes: int
    without: Report
    """Of a run that reading does not hold up."""
    held_up: Report
    """Of one that it does hold up."""

    def linear(self) -> bounds.Bound | None:
        """Return the limit of what can be saved, if there is one to be computed."""
        if self.machine.misses != "reread":
            return None
        return bounds.linear(self.graph, self.intervals(), self.capacity_bytes)

    def intervals(self) -> list[bounds.Interval]:
        return bounds.intervals(self.graph, self.without.steps, self.machine)


def cases(
    family: str,
    name: str,
    graph: ArtifactGraph,
    machine: Machine,
    caches: Mapping[str, int],
) -> Iterator[Case]:
    """Yield a workflow with each of the caches."""
    empty = GovernedCache(graph, 0, KeepNone(), machine)
    without = simulate(graph, empty, replace(machine, waits=False))
    held_up = simulate(graph, empty, machine)
    for cache, capacity in caches.items():
        yield Case(family, name, graph, machine, cache, capacity, without, held_up)


def run(case: Case, one: Contender, seed: int, *, waits: bool) -> Report:
    """Return what a policy makes of a case; the paper's ALL has room for everything."""
    machine = replace(case.machine, waits=waits)
    graph = case.graph
    capacity = sum(graph.size_bytes) if one.name == ALL else case.capacity_bytes
    told = one.tell(graph, f"{seed} {case.name}")
    return simulate(
        graph, GovernedCache(graph, capacity, one.policy, machine, told_seconds=told), machine
    )


def row(
    case: Case, one: Contender, still: Report, moving: Report | None, limit_s: float | None
) -> Row:
    saved = case.without.read_s - still.read_s
    return Row(
        family=case.family,
        name=case.name,
        jobs=len(case.graph.jobs),
        misses=case.machine.misses,
        cache=case.cache,
        capacity_bytes=case.capacity_bytes,
        artifact_bytes=sum(case.graph.size_bytes),
        policy=one.name,
        share=saved / limit_s if limit_s and one.name != ALL else None,
        cost=still.read_s / case.without.read_s if case.without.read_s else 1.0,
        hits=still.hit_ratio,
        seconds=moving and moving.seconds,
        time=moving and moving.seconds / case.held_up.seconds,
        peak_bytes=moving and moving.peak_bytes,
        mean_bytes=moving and moving.mean_bytes,
    )


def measure_real(
    name: str,
    graph: ArtifactGraph,
    policies: Sequence[Contender],
    seed: int,
    limit_s: float,
    is_patient: bool = False,
) -> tuple[list[Row], list[Limit]]:
    """Return what policies make of a real workflow, and what could be made of it."""
    rows, limits = [], []
    total = sum(graph.size_bytes)
    caches = {f"{share:.0%}": int(total * share) for share in SHARES}
    for case in cases("real", name, graph, Machine(WORKERS, REMOTE), caches):
        found = case.intervals()
        is_small = len(graph.jobs) <= SMALL
        most = bounds.linear(graph, found, case.capacity_bytes).limit_s
        best = None
        if is_small and limit_s:
            best = bounds.integral(graph, found, case.capacity_bytes, limit_s=limit_s)
        limits.append(
            Limit(
                name=name,
                cache=case.cache,
                cost_s=case.without.read_s,
                linear_s=most,
                integral_s=best.saving_s if best is not None and best.gap < CLOSED else None,
            )
        )
        for one in policies:
            if is_patient or len(graph.jobs) <= LARGE or one.name not in SLOW:
                still = run(case, one, seed, waits=False)
                moving = run(case, one, seed, waits=True) if is_small else None
                rows.append(row(case, one, still, moving, most))
    return rows, limits


def measure_scenario(
    name: str, cache_gb: Sequence[int], policies: Sequence[Contender]
) -> tuple[list[Row], dict[Key, Report]]:
    """Return what all policies make of a scenario, and the runs that reading holds up."""
    graph = artifact_graph(scenarios.SCENARIOS[name]())
    caches = {f"{gb} GB": gb * scenarios.GB for gb in cache_gb}
    rows, reports = [], {}
    for misses in ("reread", "recompute"):
        machine = Machine(scenarios.WORKERS, REMOTE, SCENARIO_CACHE, misses)
        for case in cases("scenario", name, graph, machine, caches):
            limit = case.linear()
            for one in policies:
                still = run(case, one, 0, waits=False)
                moving = run(case, one, 0, waits=True)
                rows.append(row(case, one, still, moving, limit and limit.limit_s))
                reports[name, misses, case.cache, one.name] = moving
    return rows, reports
