"""Prices of resources by their load: as printed in OASiS, and calibrated on known jobs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy.optimize import linprog

from couler.optimizers.scheduling.training import ElasticJob, Floats, MachinePool, room

_LEAST = 1e-300
"""A utility can be so small that it is 0 as a float, of which there is no logarithm."""


@dataclass(frozen=True, slots=True)
class PriceFunction:
    """The price of a unit of each resource in a slot: ``low * (high / low) ** load``, (22).

    Attributes
    ----------
    low, high
        Price without load and at full load, by resource.
    """

    low: Floats
    high: Floats

    def __call__(self, used: Floats, capacity: Floats) -> Floats:
        """Return the prices on machines of which some is used; the last axis is the resource."""
        load = np.divide(used, capacity, out=np.zeros_like(used), where=capacity > 0)
        low = np.maximum(self.low, _LEAST)
        prices: Floats = low * (np.maximum(self.high, low) / low) ** load
        return np.where(self.high > 0, prices, 0.0)


@dataclass(frozen=True, slots=True)
class ResourcePrices:
    """The prices of machines for workers (p) and for parameter servers (q)."""

    workers: PriceFunction
    servers: PriceFunction


def paper_prices(jobs: Sequence[ElasticJob], servers: MachinePool, horizon: int) -> ResourcePrices:
    """Return the prices with U and L of OASiS, (23) to (26), over all jobs that are to come.

    The bounds on eta_1 and eta_2 are taken with equality. A time-critical job makes L vanish: its
    utility at the horizon is e^-100 or less.
    """

    def function(demand: Floats, capacity: Floats) -> PriceFunction:
        total = works * demand.sum(axis=1)
        requires = total > 0
        if not requires.any():
            return PriceFunction(np.ones(len(servers.names)), np.ones(len(servers.names)))
        scale = total[requires].min() / (horizon * capacity.sum())
        low = (scale / 4 * latest[requires] / total[requires]).min()
        ratios = np.divide(best[:, None], demand, out=np.zeros_like(demand), where=demand > 0)
        return PriceFunction(np.full(len(servers.names), low), ratios.max(axis=0))

    works = np.array([job.work for job in jobs], dtype=float)
    best = np.array([job.utility(job.shortest) for job in jobs])
    latest = np.array([job.utility(horizon - job.arrival) for job in jobs])
    return ResourcePrices(
        function(np.array([job.worker for job in jobs], dtype=float), servers.workers),
        function(np.array([job.server for job in jobs], dtype=float), servers.servers),
    )


def calibrated_prices(
    jobs: Sequence[ElasticJob],
    servers: MachinePool,
    horizon: int,
    *,
    usable: float = 0.5,
    rise: float = 4.0,
) -> ResourcePrices:
    """Return prices by what the last unit of each resource is worth to jobs.

    That is the dual of a knapsack that takes jobs in part, each with the utility of its shortest
    run and all that it occupies, where all slots are one: a resource that is not scarce costs
    nothing, and a job whose utility is below the value of what it occupies is not admitted even
    on empty machines.

    Parameters
    ----------
    jobs
        Jobs like those that are to come in as many slots, such as earlier ones; those that never
        fit do not count.
    servers, horizon
        The machines, and the number of slots.
    usable
        Share of the capacity that jobs can use, as machines are not filled without gaps.
    rise
        Price at full load, as a multiple of that without load.
    """
    empty = np.zeros_like(servers.workers)
    jobs = [
        job
        for job in jobs
        if job.work <= horizon * min(job.chunks, room(servers.workers, empty, job.worker).sum())
    ]
    if not jobs:
        nothing = PriceFunction(np.zeros(len(servers.names)), np.zeros(len(servers.names)))
        return ResourcePrices(nothing, nothing)
    capacity = np.concatenate([servers.workers.sum(axis=0), servers.servers.sum(axis=0)])
    occupied = np.array([[*job.worker, *_server_of_worker(job)] for job in jobs])
    work = np.array([job.work for job in jobs])
    values = np.array([job.utility(job.shortest) for job in jobs])
    solved = linprog(
        -values, A_ub=occupied.T * work, b_ub=usable * horizon * capacity, bounds=(0, 1)
    )
    duals = np.maximum(-solved.ineqlin.marginals, 0.0)
    half = len(servers.names)
    return ResourcePrices(
        PriceFunction(duals[:half], rise * duals[:half]),
        PriceFunction(duals[half:], rise * duals[half:]),
    )


def _server_of_worker(job: ElasticJob) -> list[float]:
    """Return the part of a parameter server that a worker needs."""
    if not job.workers_per_server:
        return [0.0] * len(job.server)
    return [demand / job.workers_per_server for demand in job.server]
