"""Runs of the schemes on the same jobs and machines, and what they come to."""

from __future__ import annotations

import math
import typing as t
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from benchmarks.scheduling.baselines import Dorm, Drf, Fifo, OasisPolicy, Rrh
from benchmarks.scheduling.bounds import upper_bound
from benchmarks.scheduling.simulator import Policy, Trace, simulate
from benchmarks.scheduling.workloads import Kind, cluster, kind_of, training_jobs
from couler.optimizers.scheduling.prices import ResourcePrices, calibrated_prices, paper_prices
from couler.optimizers.scheduling.training import ElasticJob, MachinePool

Scheme: t.TypeAlias = t.Literal["FIFO", "DRF", "RRH", "Dorm", "OASiS-paper", "OASiS"]
SCHEMES: tuple[Scheme, ...] = t.get_args(Scheme)


@dataclass(frozen=True)
class SchedulingCase:
    """Jobs that arrive, others like them that are known before, and machines."""

    seed: int
    jobs: Sequence[ElasticJob]
    earlier: Sequence[ElasticJob]
    servers: MachinePool
    horizon: int

    @classmethod
    def random(
        cls, seed: int, *, jobs: int = 100, machines: int = 50, horizon: int = 100
    ) -> SchedulingCase:
        """Return a case of a seed: as many machines for parameter servers as for workers."""
        rng = np.random.default_rng(seed)
        servers = cluster(rng, machines, machines)
        earlier = training_jobs(np.random.default_rng(seed + 10_000), jobs, horizon)
        return cls(seed, training_jobs(rng, jobs, horizon), earlier, servers, horizon)

    def policy(self, scheme: Scheme) -> Policy[ElasticJob]:
        """Return a new policy."""
        made: Mapping[Scheme, Callable[[], Policy[ElasticJob]]] = {
            "FIFO": lambda: Fifo(self.servers, np.random.default_rng(self.seed)),
            "DRF": lambda: Drf(self.servers),
            "RRH": lambda: Rrh(self.servers, np.random.default_rng(self.seed)),
            "Dorm": lambda: Dorm(self.servers),
            "OASiS-paper": lambda: self.oasis(paper_prices(self.jobs, self.servers, self.horizon)),
            "OASiS": lambda: self.oasis(self.calibrated()),
        }
        return made[scheme]()

    def oasis(self, prices: ResourcePrices) -> OasisPolicy:
        """Return OASiS at prices."""
        return OasisPolicy(self.servers, self.horizon, prices)

    def calibrated(self, **settings: float) -> ResourcePrices:
        """Return prices of the earlier jobs."""
        return calibrated_prices(self.earlier, self.servers, self.horizon, **settings)

    def bound(self) -> float:
        """Return what no schedule's total utility can be above."""
        return upper_bound(self.jobs, self.servers, self.horizon)

    def run(self, policy: Policy[ElasticJob]) -> SchedulingOutcome:
        """Return what the jobs come to under a policy."""
        return SchedulingOutcome(self, simulate(self.jobs, policy, tick=1, until=self.horizon))


@dataclass(frozen=True)
class SchedulingOutcome:
    """What a run has come to."""

    case: SchedulingCase
    trace: Trace

    @property
    def utility(self) -> float:
        """The total utility of the jobs that have ended."""
        return sum(job.utility(slots) for job, slots in self.durations())

    def durations(self) -> list[tuple[ElasticJob, int]]:
        """Return the jobs that have ended, and the slots that each was there."""
        ends = self.trace.ends
        return [
            (job, math.ceil(ends[job.name] - 1e-9) - job.arrival)
            for job in self.case.jobs
            if job.name in ends
        ]

    def lateness(self, kind: Kind) -> list[float]:
        """Return the duration less the target of jobs of a kind that have ended."""
        return [
            slots - job.utility.target for job, slots in self.durations() if kind_of(job) == kind
        ]
