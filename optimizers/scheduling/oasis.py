"""OASiS: which training jobs to admit, and how many workers each has in each slot.

*Online Job Scheduling in Distributed Machine Learning Clusters*, Bao, Peng, Wu and Li, 2018.
Algorithm 2 is exact here, and one pass gives the best schedule for every end: the state is the
work done so far in worker-slots, which is constraint (2) as it stands; the paper counts chunks,
and so rounds workers up in each slot.

The paper counts the duration of a job that ends in slot t as t - a_i in (1), and in slots that
it ran in (23). Here it is the second: a job that ends in the slot in which it arrives takes one.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from couler.optimizers.scheduling.prices import PriceFunction, ResourcePrices
from couler.optimizers.scheduling.training import Counts, ElasticJob, Floats, MachinePool, room


@dataclass(frozen=True, slots=True)
class Deployment:
    """The workers and parameter servers of a job in a slot, by machine."""

    slot: int
    workers: Counts
    servers: Counts


@dataclass(frozen=True, slots=True)
class Decision:
    """What becomes of a job.

    Attributes
    ----------
    job
        The job.
    utility, cost
        Of the best schedule, at the prices of the moment; the cost is infinite if none fits.
    deployments
        The schedule, by slot, for a job that is admitted; else empty.
    reason
        Why it is not admitted.
    """

    job: ElasticJob
    utility: float
    cost: float
    deployments: tuple[Deployment, ...] = ()
    reason: str = ""

    @property
    def admitted(self) -> bool:
        """Whether it runs."""
        return bool(self.deployments)

    @property
    def end(self) -> int:
        """The slot in which it ends."""
        return self.deployments[-1].slot


class Oasis:
    """Algorithm 1: admits jobs one after the other, and holds what is promised to them."""

    def __init__(self, servers: MachinePool, horizon: int, prices: ResourcePrices) -> None:
        """Begin with no load.

        Parameters
        ----------
        servers
            The machines.
        horizon
            Number of slots (T).
        prices
            Price functions of both kinds of machine.
        """
        self.horizon = horizon
        self._workers = _Machines(servers.workers, horizon, prices.workers)
        self._servers = _Machines(servers.servers, horizon, prices.servers)

    def occupy(self, slot: int, workers: Floats, servers: Floats) -> None:
        """Take note of what runs in a slot: the resources that are used by machine."""
        self._workers.used[slot] += workers
        self._servers.used[slot] += servers

    def worker_prices(self) -> Floats:
        """Return the prices for workers, an array of shape (slots, machines, resources)."""
        return self._workers.prices()

    def offer(self, job: ElasticJob) -> Decision:
        """Decide on a job, which arrives before the horizon."""
        first, work = job.arrival, job.work
        slots = self.horizon - first
        utilities = np.array([job.utility(duration) for duration in range(1, slots + 1)])
        too_much = f"it needs {work:,} worker-slots, more than are free"
        if work > slots * job.chunks:
            return Decision(job, float(utilities[0]), np.inf, reason=too_much)
        costs = self._costs(job)
        table = cheapest(costs, work, utilities)
        payoffs = utilities - table[1:, work]
        if np.isinf(payoffs.max()):
            return Decision(job, float(utilities[0]), np.inf, reason=too_much)
        end = _first_near(payoffs, payoffs.max())
        utility, cost = float(utilities[end]), float(table[end + 1, work])
        if payoffs[end] < -1e-9 * utility:  # calibrated prices let the last job break even
            reason = f"its utility is {utility:.4g}, below the cost of its resources, {cost:.4g}"
            return Decision(job, utility, cost, reason=reason)
        deployments = tuple(
            Deployment(
                first + slot,
                self._workers.take(first + slot, job.worker, job.excluded[0], count),
                self._servers.take(first + slot, job.server, job.excluded[1], job.servers(count)),
            )
            for slot, count in enumerate(sizes(table, costs, end, work))
            if count
        )
        return Decision(job, utility, cost, deployments)

    def _costs(self, job: ElasticJob) -> Floats:
        """Return the cost of each number of workers in each slot from its arrival on: (32)."""
        most = min(job.chunks, job.work)
        workers = self._workers.costs(job.arrival, job.worker, job.excluded[0], most)
        needed = [job.servers(count) for count in range(most + 1)]
        if not needed[-1]:
            return workers
        servers = self._servers.costs(job.arrival, job.server, job.excluded[1], needed[-1])
        return workers + servers[:, needed]


class _Machines:
    """Machines of one kind over the slots: their load, and what it costs to add to it."""

    def __init__(self, capacity: Floats, horizon: int, price: PriceFunction) -> None:
        self._capacity = capacity
        self._price = price
        self.used = np.zeros((horizon, *capacity.shape))

    def prices(self) -> Floats:
        """Return the prices of all resources on all machines in all slots."""
        return self._price(self.used, self._capacity)

    def costs(
        self, first: int, demand: tuple[float, ...], excluded: frozenset[int], most: int
    ) -> Floats:
        """Return by slot and count what the cheapest deployment costs; infinite without room."""
        prices, free = self._offers(slice(first, None), demand, excluded, most)
        order = np.argsort(prices, axis=1, kind="stable")
        free = np.take_along_axis(free, order, axis=1)
        totals = np.cumsum(free, axis=1)
        sums = np.cumsum(free * np.take_along_axis(prices, order, axis=1), axis=1)
        counts = np.arange(most + 1)
        found = np.full((len(free), most + 1), np.inf)
        for row, total, cost in zip(found, totals, sums, strict=True):
            size = min(most, int(total[-1]) if len(total) else 0) + 1
            row[:size] = np.interp(counts[:size], np.r_[0, total], np.r_[0.0, cost])
        return found

    def take(
        self, slot: int, demand: tuple[float, ...], excluded: frozenset[int], count: int
    ) -> Counts:
        """Occupy the cheapest machines in a slot; return how many each has."""
        prices, free = self._offers(slot, demand, excluded, count)
        taken = np.zeros(len(free), dtype=np.int64)
        for machine in np.argsort(prices, kind="stable"):
            taken[machine] = min(count, free[machine])
            count -= taken[machine]
        assert count == 0, "a schedule has room in each of its slots"
        self.used[slot] += taken[:, None] * np.asarray(demand)
        return taken

    def _offers(
        self, slots: int | slice, demand: tuple[float, ...], excluded: frozenset[int], most: int
    ) -> tuple[Floats, Counts]:
        """Return what one more costs on each machine, and how many fit."""
        used = self.used[slots]
        prices = self._price(used, self._capacity) @ np.asarray(demand)
        free = np.minimum(room(self._capacity, used, demand), most)
        free[..., list(excluded)] = 0
        return prices, free


def cheapest(costs: Floats, work: int, utilities: Floats) -> Floats:
    """Return the least cost of an amount of work in the first slots: Algorithm 2.

    Parameters
    ----------
    costs
        Cost of each number of workers in each slot, of shape (slots, most + 1): not decreasing,
        0 for none, infinite where they do not fit.
    work
        Worker-slots.
    utilities
        Utility by the slot in which the work ends, not increasing.

    Returns
    -------
    Floats
        Of shape (slots + 1, work + 1). Infinite also where it is not computed: what cannot lead to
        all of the work any more, and slots in which an end cannot pay off more than an earlier one.
    """
    slots, most = len(costs), costs.shape[1] - 1
    table = np.full((slots + 1, work + 1), np.inf)
    table[0, 0] = 0.0
    buffer = np.empty(work + 1)
    at_least = work * float((costs[:, 1:] / np.arange(1, most + 1)).min())
    best = -np.inf
    for slot, row in enumerate(costs):
        if best >= utilities[slot] - at_least:
            break
        before, after = table[slot], table[slot + 1]
        after[:] = before
        high = min(work, slot * most) + 1
        low = work - (slots - slot - 1) * most
        for count in range(1, int(np.isfinite(row).sum())):
            start, stop = max(0, low - count), min(high, work + 1 - count)
            if start < stop:
                sums = np.add(before[start:stop], row[count], out=buffer[: stop - start])
                target = after[start + count : stop + count]
                np.minimum(target, sums, out=target)
        best = max(best, utilities[slot] - after[work])
    return table


def sizes(table: Floats, costs: Floats, end: int, work: int) -> list[int]:
    """Return the number of workers in each slot up to an end; of equal ones, the most first."""
    sizes: list[int] = []
    for slot in range(end, -1, -1):
        counts = np.arange(min(work, costs.shape[1] - 1) + 1)
        totals = table[slot, work - counts] + costs[slot, counts]
        sizes.append(_first_near(totals, totals.min()))
        work -= sizes[-1]
    return sizes[::-1]


def _first_near(values: Floats, best: float) -> int:
    """Return the place of the first of some values that is the best one, but for rounding."""
    return int(np.argmax(abs(values - best) <= 1e-9 * abs(best)))
