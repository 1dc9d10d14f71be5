"""What no schedule can be better than: an exact program for small cases, a relaxation for large."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from scipy.optimize import Bounds, LinearConstraint, linprog, milp

from couler.optimizers.scheduling.oasis import cheapest, sizes
from couler.optimizers.scheduling.training import ElasticJob, Floats, MachinePool


def upper_bound(
    jobs: Sequence[ElasticJob], servers: MachinePool, horizon: int, *, rounds: int = 60
) -> float:
    """Return a bound of the total utility, by column generation on the relaxation of (14).

    Machines of a kind are taken together, schedules can be taken in part, and the bound is that
    of Lagrange, which holds for all prices: ``sum p c + sum_i max(0, best payoff of i at p)``.
    New schedules are searched for with Algorithm 2 at the duals of (15) and (16).
    """
    capacity = np.concatenate([servers.workers.sum(axis=0), servers.servers.sum(axis=0)])
    width = horizon * len(capacity)
    limits = np.concatenate([np.tile(capacity, horizon), np.ones(len(jobs))])
    columns: list[Floats] = []
    values: list[float] = []
    prices = np.zeros((horizon, len(capacity)))
    shares = np.zeros(len(jobs))
    best = np.inf
    for _ in range(rounds):
        found = [_schedule(job, prices, horizon, capacity) for job in jobs]
        payoffs = np.array([payoff for payoff, _, _ in found])
        best = min(best, float(prices.sum(axis=0) @ capacity + np.maximum(payoffs, 0).sum()))
        new = np.flatnonzero(payoffs > shares + 1e-6)
        if not len(new):
            break
        for number in new:
            _, value, use = found[number]
            column = np.zeros(width + len(jobs))
            column[:width] = use.ravel()
            column[width + number] = 1
            columns.append(column)
            values.append(value)
        solved = linprog(-np.array(values), A_ub=np.array(columns).T, b_ub=limits, method="highs")
        duals = -solved.ineqlin.marginals
        prices, shares = duals[:width].reshape(horizon, -1), duals[width:]
    return best


def optimum(jobs: Sequence[ElasticJob], servers: MachinePool, horizon: int) -> float:
    """Return the largest total utility: (1) to (13) as an integer program, for small cases.

    Variables by job: workers and parameter servers by slot and machine, and whether it ends at
    the latest in each slot.
    """
    kinds = (servers.workers, servers.servers)
    machines = [len(kind) for kind in kinds]
    block = horizon * (sum(machines) + 1)
    total = block * len(jobs)
    objective = np.zeros(total)
    upper = np.zeros(total)
    rows: list[Floats] = []
    limits: list[float] = []

    def at(job: int, slot: int) -> tuple[slice, slice, int]:
        start = job * block + slot * (sum(machines) + 1)
        return (
            slice(start, start + machines[0]),
            slice(start + machines[0], start + sum(machines)),
            start + sum(machines),
        )

    def row(limit: float) -> Floats:
        limits.append(limit)
        rows.append(np.zeros(total))
        return rows[-1]

    for number, job in enumerate(jobs):
        once, done = row(1), row(0)
        for slot in range(job.arrival, horizon):
            workers, hosts, ends = at(number, slot)
            objective[ends] = -job.utility(slot + 1 - job.arrival)
            upper[workers], upper[hosts], upper[ends] = job.chunks, job.chunks, 1
            once[ends] = 1
            done[workers], done[ends] = -1, job.work
            most = row(0)  # (3), and no workers after the end
            most[workers] = 1
            for later in range(slot, horizon):
                most[at(number, later)[2]] = -job.chunks
            if job.workers_per_server:
                served, few = row(0), row(0)  # (6) and (7)
                served[workers], served[hosts] = 1, -job.workers_per_server
                few[hosts], few[workers] = 1, -1
    for slot in range(horizon):
        for kind, capacity in enumerate(kinds):
            for machine in range(machines[kind]):
                for resource, limit in enumerate(capacity[machine]):
                    use = row(limit)
                    for number, job in enumerate(jobs):
                        demand = (job.worker, job.server)[kind][resource]
                        first = at(number, slot)[0].start + kind * machines[0]
                        use[first + machine] = demand
    solved = milp(
        objective,
        integrality=np.ones(total),
        bounds=Bounds(0, upper),
        constraints=LinearConstraint(np.array(rows), ub=np.array(limits)),
    )
    return float(-solved.fun)


def _schedule(
    job: ElasticJob, prices: Floats, horizon: int, capacity: Floats
) -> tuple[float, float, Floats]:
    """Return the best payoff at prices, the utility of that schedule, and what it uses."""
    half = len(capacity) // 2
    demand, served = np.asarray(job.worker), np.asarray(job.server)
    counts = np.arange(min(job.chunks, job.work) + 1)
    hosts = np.array([job.servers(int(count)) for count in counts])
    local = prices[job.arrival :]
    costs = np.outer(local[:, :half] @ demand, counts) + np.outer(local[:, half:] @ served, hosts)
    used = np.hstack([np.outer(counts, demand), np.outer(hosts, served)])
    costs[:, (used > capacity + 1e-9).any(axis=1)] = np.inf
    utilities = np.array([job.utility(slots) for slots in range(1, len(costs) + 1)])
    table = cheapest(costs, job.work, utilities)
    payoffs = utilities - table[1:, job.work]
    end = int(np.argmax(payoffs))
    use = np.zeros((horizon, len(capacity)))
    if np.isfinite(payoffs[end]):
        chosen = sizes(table, costs, end, job.work)
        use[job.arrival : job.arrival + len(chosen)] = used[chosen]
    return float(payoffs[end]), float(utilities[end]), use
