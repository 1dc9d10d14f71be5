"""The four schedulers that OASiS is compared with, and OASiS itself, as policies of the simulator.

All plan at the start of a slot. Workers and parameter servers go to machines in turn (round-robin)
as the paper says. What it leaves open is settled so:

- FIFO: the number of workers is drawn from 1 to 30, at most the chunks, and what an empty cluster
  can hold; the first job that does not fit holds up those behind it.
- DRF: one more worker, with the parameter servers that it needs, for the job of the least dominant
  share, over and over (progressive filling), at every arrival and end.
- RRH, after Irwin et al.: numbers as FIFO. The gain of a job is its utility if it runs from now on
  without a pause; its cost is what the others lose meanwhile, by the slope of their utilities. It
  is admitted if the gain less the cost is above 0. The order in which jobs run is by (gain - cost)
  over the slots left.
- Dorm: a MILP at every arrival and end has the most resource use, summed over resources as shares
  of their capacity, with each job's dominant share at least (1 - 0.1) of what DRF gives it, as far
  as that can be, and at most a fifth of the running jobs changed, rounded up. Machines are taken
  together; what then finds no machine is left out.
"""

from __future__ import annotations

import math
import typing as t
from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping

import numpy as np
from scipy.optimize import Bounds, LinearConstraint, milp

from benchmarks.scheduling.simulator import ActiveJob, Share, SimulationEvent
from couler.optimizers.scheduling.oasis import Decision, Oasis
from couler.optimizers.scheduling.prices import ResourcePrices
from couler.optimizers.scheduling.training import Counts, ElasticJob, Floats, MachinePool, room

MOST_FIXED = 30
"""FIFO and RRH fix 1 to 30 workers."""

_UNFAIR = 0.1
_CHANGED = 0.2

Jobs: t.TypeAlias = Mapping[str, ActiveJob[ElasticJob]]


class Packing:
    """What is free on the machines, and a job's place there."""

    def __init__(self, servers: MachinePool) -> None:
        self._free = [servers.workers.copy(), servers.servers.copy()]
        self._next = [0, 0]

    def place(self, job: ElasticJob, workers: int) -> tuple[Counts, Counts] | None:
        """Take room for workers and their parameter servers, all or none."""
        found: list[Counts] = []
        for kind, (demand, count) in enumerate(_parts(job, workers)):
            taken = self._spread(kind, demand, count)
            if taken is None:
                for number, counts in enumerate(found):
                    self.give_back(job, number, counts)
                return None
            found.append(taken)
        return found[0], found[1]

    def give_back(self, job: ElasticJob, kind: int, counts: Counts) -> None:
        """Free what is taken on machines for workers (0) or parameter servers (1)."""
        self._free[kind] += counts[:, None] * np.asarray((job.worker, job.server)[kind])

    def _spread(self, kind: int, demand: tuple[float, ...], count: int) -> Counts | None:
        free = self._free[kind]
        fits = room(free, np.zeros_like(free), demand) if count else np.zeros(len(free), dtype=int)
        if fits.sum() < count:
            return None
        taken = np.zeros(len(free), dtype=np.int64)
        order = np.roll(np.arange(len(free)), -self._next[kind])
        while count:
            for machine in order:
                if count and taken[machine] < fits[machine]:
                    taken[machine] += 1
                    count -= 1
                    self._next[kind] = (int(machine) + 1) % len(free)
        free -= taken[:, None] * np.asarray(demand)
        return taken


class SlotPolicy(ABC):
    """A policy that plans at the start of a slot: base of all that are compared."""

    wake = math.inf

    def __init__(self, servers: MachinePool) -> None:
        self._servers = servers
        self._sizes: dict[str, int] = {}
        self._changed = True

    def shares(self, event: SimulationEvent[ElasticJob], running: Jobs) -> dict[str, Share]:
        """Plan at a tick if a job has come or gone since the last one; see `Policy`."""
        self._changed = self._changed or bool(event.arrived or event.ended)
        for job in event.arrived:
            self.arrive(job, running, event.now)
        if event.is_tick and self._changed:
            self._changed = False
            self._sizes = self.plan(running, event.now)
        return {name: Share(size) for name, size in self._sizes.items() if name in running}

    def arrive(  # noqa: B027 (most policies need nothing)
        self, job: ElasticJob, running: Jobs, now: float
    ) -> None:
        """Take note of a job that arrives."""

    @abstractmethod
    def plan(self, running: Jobs, now: float) -> dict[str, int]:
        """Return how many workers each job has from now on."""

    def pack(self, wanted: Iterable[tuple[ElasticJob, int]], *, in_order: bool) -> dict[str, int]:
        """Return the sizes that fit on the machines; in order, up to the first that does not."""
        packing = Packing(self._servers)
        sizes: dict[str, int] = {}
        for job, size in wanted:
            if size and packing.place(job, size) is not None:
                sizes[job.name] = size
            elif in_order:
                break
        return sizes


class FixedSize(SlotPolicy):
    """A policy whose jobs have a number of workers that is drawn when they arrive."""

    def __init__(self, servers: MachinePool, rng: np.random.Generator) -> None:
        super().__init__(servers)
        self._rng = rng
        self._fixed: dict[str, int] = {}

    def arrive(self, job: ElasticJob, running: Jobs, now: float) -> None:
        """Draw the size of a job."""
        size = min(int(self._rng.integers(1, MOST_FIXED + 1)), job.chunks)
        while size and Packing(self._servers).place(job, size) is None:
            size -= 1
        self._fixed[job.name] = size


class Fifo(FixedSize):
    """Jobs run in the order in which they arrive."""

    def plan(self, running: Jobs, now: float) -> dict[str, int]:
        """Run the longest prefix that fits."""
        jobs = [(one.job, self._fixed[name]) for name, one in running.items()]
        return self.pack([pair for pair in jobs if pair[1]], in_order=True)


class Rrh(FixedSize):
    """Jobs are admitted and run by gain and cost (risk-reward heuristic)."""

    def __init__(self, servers: MachinePool, rng: np.random.Generator) -> None:
        super().__init__(servers, rng)
        self._admitted: set[str] = set()

    def arrive(self, job: ElasticJob, running: Jobs, now: float) -> None:
        """Admit a job whose gain is larger than its cost."""
        super().arrive(job, running, now)
        if self._fixed[job.name]:
            self._admitted.add(job.name)
            if self._balance(running[job.name], running, now) <= 0:
                self._admitted.remove(job.name)

    def plan(self, running: Jobs, now: float) -> dict[str, int]:
        """Run admitted jobs, by what a slot of each is worth."""
        jobs = [one for name, one in running.items() if name in self._admitted]
        jobs.sort(key=lambda one: -self._balance(one, running, now) / self._slots(one))
        return self.pack([(one.job, self._fixed[one.job.name]) for one in jobs], in_order=False)

    def _slots(self, one: ActiveJob[ElasticJob]) -> int:
        return max(1, math.ceil(one.left / self._fixed[one.job.name] - 1e-9))

    def _balance(self, one: ActiveJob[ElasticJob], running: Jobs, now: float) -> float:
        slots = self._slots(one)
        loss = sum(
            self._gain(other, now) - self._gain(other, now + 1)
            for name, other in running.items()
            if name in self._admitted and other is not one
        )
        return self._gain(one, now) - slots * loss * self._share(one.job)

    def _gain(self, one: ActiveJob[ElasticJob], now: float) -> float:
        return one.job.utility(now + self._slots(one) - one.job.arrival)

    def _share(self, job: ElasticJob) -> float:
        """Return the part of the cluster that it occupies: others lose only that much."""
        return self._fixed[job.name] * dominant(job, self._servers)


class Drf(SlotPolicy):
    """Dominant shares are as equal as can be."""

    def plan(self, running: Jobs, now: float) -> dict[str, int]:
        """Fill progressively."""
        return fill({name: one.job for name, one in running.items()}, self._servers)


class Dorm(SlotPolicy):
    """A MILP has the most resource use, fairly, with few changes."""

    def plan(self, running: Jobs, now: float) -> dict[str, int]:
        """Solve the MILP; where no sizes are few changes from the last, changes are free."""
        jobs = [one.job for one in running.values()]
        if not jobs:
            return {}
        fair = fill({job.name: job for job in jobs}, self._servers)
        old = {job.name: self._sizes[job.name] for job in jobs if job.name in self._sizes}
        sizes = self._solve(jobs, fair, old) or self._solve(jobs, fair, {}) or fair
        largest_first = sorted(jobs, key=lambda job: job.name not in old)
        return self.pack(((job, sizes.get(job.name, 0)) for job in largest_first), in_order=False)

    def _solve(
        self, jobs: list[ElasticJob], fair: Mapping[str, int], old: Mapping[str, int]
    ) -> dict[str, int]:
        count = len(jobs)
        totals = [self._servers.workers.sum(axis=0), self._servers.servers.sum(axis=0)]
        ratios = np.array([1 / job.workers_per_server for job in jobs])
        rows = [np.array([job.worker for job in jobs], dtype=float).T]
        rows.append(np.array([job.server for job in jobs], dtype=float).T * ratios)
        used = np.vstack(rows)
        limits = np.concatenate(totals)
        worth = np.divide(used.T, limits, out=np.zeros_like(used.T), where=limits > 0).sum(axis=1)
        least = [math.floor((1 - _UNFAIR) * fair.get(job.name, 0)) for job in jobs]
        most = [job.chunks for job in jobs]
        # The second half of the variables says whether a running job has another size.
        change = np.zeros((2 * len(old), 2 * count))
        bounds = np.zeros(2 * len(old))
        for row, (number, job) in enumerate(
            (number, job) for number, job in enumerate(jobs) if job.name in old
        ):
            for side, sign in enumerate((1, -1)):
                change[2 * row + side, number] = sign
                change[2 * row + side, count + number] = -job.chunks
                bounds[2 * row + side] = sign * old[job.name]
        constraints = [LinearConstraint(np.hstack([used, np.zeros_like(used)]), ub=limits)]
        if old:
            constraints.append(LinearConstraint(change, ub=bounds))
            changed = np.concatenate([np.zeros(count), [job.name in old for job in jobs]])
            constraints.append(LinearConstraint(changed, ub=math.ceil(_CHANGED * len(old))))
        found = milp(
            np.concatenate([-worth, np.zeros(count)]),
            integrality=np.ones(2 * count),
            bounds=Bounds([*least, *[0] * count], [*most, *[1] * count]),
            constraints=constraints,
            options={"mip_rel_gap": 0.01, "time_limit": 5},
        )
        if found.x is None:
            return {}
        return {job.name: round(size) for job, size in zip(jobs, found.x, strict=False)}


class OasisPolicy:
    """OASiS in the simulator: decisions at arrivals, sizes by slot."""

    wake = math.inf

    def __init__(self, servers: MachinePool, horizon: int, prices: ResourcePrices) -> None:
        self.oasis = Oasis(servers, horizon, prices)
        self.decisions: dict[str, Decision] = {}

    def shares(self, event: SimulationEvent[ElasticJob], running: Jobs) -> dict[str, Share]:
        """Return the sizes of this slot; see `Policy`."""
        for job in event.arrived:
            self.decisions[job.name] = self.oasis.offer(job)
        slot = math.floor(event.now + 1e-9)
        return {
            name: Share(int(one.workers.sum()))
            for name in running
            for one in self.decisions[name].deployments
            if one.slot == slot
        }


def fill(jobs: Mapping[str, ElasticJob], servers: MachinePool) -> dict[str, int]:
    """Return the sizes that progressive filling gives: max-min fair in dominant shares."""
    free = [servers.workers.copy(), servers.servers.copy()]
    unit = {name: dominant(job, servers) for name, job in jobs.items()}
    sizes = dict.fromkeys(jobs, 0)
    left = [name for name in jobs if jobs[name].chunks]
    while left:
        name = min(left, key=lambda one: sizes[one] * unit[one])
        job, size = jobs[name], sizes[name]
        more = job.servers(size + 1) - job.servers(size)
        if size == job.chunks or not _add(free, job, more):
            left.remove(name)
        else:
            sizes[name] += 1
    return {name: size for name, size in sizes.items() if size}


def dominant(job: ElasticJob, servers: MachinePool) -> float:
    """Return the dominant share of one worker, and its part of a parameter server."""
    shares = []
    for demand, capacity in ((job.worker, servers.workers), (job.server, servers.servers)):
        total = capacity.sum(axis=0)
        ratio = np.divide(demand, total, out=np.zeros_like(total), where=total > 0).max(initial=0)
        shares.append(float(ratio))
    return max(shares[0], shares[1] / job.workers_per_server if job.workers_per_server else 0.0)


def _add(free: list[Floats], job: ElasticJob, servers: int) -> bool:
    """Take room for one more worker and so many more parameter servers, if there is."""
    taken: list[tuple[int, int]] = []
    for kind, (demand, count) in enumerate(((job.worker, 1), (job.server, servers))):
        for _ in range(count):
            fits = (free[kind] >= np.asarray(demand) - 1e-9).all(axis=1)
            if not fits.any():
                for place, machine in taken:
                    free[place][machine] += np.asarray((job.worker, job.server)[place])
                return False
            # The freest machine: what round-robin comes to, without a memory.
            machine = int(np.argmax(np.where(fits, free[kind].sum(axis=1), -1)))
            free[kind][machine] -= np.asarray(demand)
            taken.append((kind, machine))
    return True


def _parts(job: ElasticJob, workers: int) -> tuple[tuple[tuple[float, ...], int], ...]:
    return (job.worker, workers), (job.server, job.servers(workers))
