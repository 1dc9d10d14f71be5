"""OASiS: its subroutine equals brute force, and what it promises can be held."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

from couler.optimizers.scheduling.oasis import Oasis
from couler.optimizers.scheduling.prices import (
    PriceFunction,
    ResourcePrices,
    calibrated_prices,
    paper_prices,
)
from couler.optimizers.scheduling.training import ElasticJob, MachinePool, Sigmoid

NAMES = ("gpu", "bandwidth")


def job(
    name: str = "a",
    arrival: int = 0,
    *,
    chunks: int = 3,
    work: int = 4,
    worker: tuple[float, float] = (1, 1),
    server: tuple[float, float] = (0, 2),
    utility: Sigmoid = Sigmoid(10),  # noqa: B008 (a frozen dataclass)
) -> ElasticJob:
    ratio = server[1] / worker[1] if server[1] else 0.0
    return ElasticJob(name, arrival, 1, chunks, 1, work / chunks, worker, server, ratio, utility)


def prices(low: float = 0.01, high: float = 100.0) -> ResourcePrices:
    function = PriceFunction(np.full(2, low), np.full(2, high))
    return ResourcePrices(function, function)


class SmallCase:
    """Machines on which something runs already, and a job that arrives."""

    def __init__(self, seed: int) -> None:
        rng = np.random.default_rng(seed)
        self.machines = MachinePool.of(
            NAMES,
            [[int(rng.integers(0, 4)), int(rng.integers(1, 6))] for _ in range(2)],
            [[0, int(rng.integers(0, 5))] for _ in range(2)],
        )
        self.prices = prices(float(rng.uniform(0.01, 1)), float(rng.uniform(1, 20)))
        self.oasis = Oasis(self.machines, 4, self.prices)
        kinds = (self.machines.workers, self.machines.servers)
        self.loads = [np.floor(rng.uniform(0, 1, (4, *kind.shape)) * kind) for kind in kinds]
        for slot in range(4):
            self.oasis.occupy(slot, self.loads[0][slot], self.loads[1][slot])
        chunks = int(rng.integers(1, 4))
        self.job = job(
            arrival=int(rng.integers(0, 3)),
            chunks=chunks,
            work=int(rng.integers(1, 8)),
            worker=(int(rng.integers(0, 2)), 1),
            server=(0, int(rng.integers(0, 4))),  # at least as much as a worker, or none
            utility=Sigmoid(float(rng.uniform(1, 20)), float(rng.uniform(0, 3)), 2),
        )

    def cost(self, slot: int, count: int) -> float:
        """Return the least cost of some workers in a slot, over all ways to place them."""
        one, total = self.job, 0.0
        for demand, size, load, kind, price in (
            (one.worker, count, self.loads[0], self.machines.workers, self.prices.workers),
            (
                one.server,
                one.servers(count),
                self.loads[1],
                self.machines.servers,
                self.prices.servers,
            ),
        ):
            unit = price(load[slot], kind) @ np.asarray(demand)
            total += min(
                (
                    float(np.dot(spread, unit))
                    for spread in itertools.product(range(size + 1), repeat=2)
                    if sum(spread) == size
                    and (load[slot] + np.outer(spread, demand) <= kind + 1e-9).all()
                ),
                default=math.inf,
            )
        return total

    def best(self) -> float:
        """Return the best payoff over all numbers of workers in all slots, on all machines."""
        slots, counts = range(self.job.arrival, 4), range(self.job.chunks + 1)
        costs = {(slot, size): self.cost(slot, size) for slot in slots for size in counts}
        best = -math.inf
        for sizes in itertools.product(counts, repeat=len(slots)):
            if sum(sizes) >= self.job.work:
                paid = sum(costs[slot, size] for slot, size in zip(slots, sizes, strict=True))
                duration = max(place for place, size in enumerate(sizes, 1) if size)
                best = max(best, self.job.utility(duration) - paid)
        return best


@pytest.mark.parametrize("seed", range(200))
def test_the_schedule_is_as_good_as_the_best_of_all(seed: int) -> None:
    case = SmallCase(seed)
    best = case.best()
    decision = case.oasis.offer(case.job)
    if math.isfinite(best):
        assert decision.utility - decision.cost == pytest.approx(best)
    else:
        assert decision.cost == math.inf
    assert decision.admitted == (best > 0)


jobs = st.builds(
    job,
    name=st.just("a"),
    arrival=st.integers(0, 5),
    chunks=st.integers(1, 6),
    work=st.integers(1, 30),
    worker=st.tuples(st.integers(0, 2), st.integers(1, 3)),
    server=st.tuples(st.just(0), st.sampled_from([0, 3, 5, 9])),
    utility=st.builds(
        Sigmoid, st.floats(0.1, 100), st.sampled_from([0.0, 0.5, 5.0]), st.floats(1, 8)
    ),
)


@given(st.lists(jobs, min_size=1, max_size=12), st.sampled_from(["paper", "calibrated", "free"]))
@settings(max_examples=60)
def test_capacity_holds_and_every_admitted_job_finishes_its_work(
    some: list[ElasticJob], kind: str
) -> None:
    servers = MachinePool.of(NAMES, [[4, 8], [2, 12]], [[0, 10], [0, 7]])
    some = sorted(some, key=lambda one: one.arrival)
    price = {
        "paper": lambda: paper_prices(some, servers, 8),
        "calibrated": lambda: calibrated_prices(some, servers, 8),
        "free": lambda: prices(0.0, 0.0),
    }[kind]()
    oasis = Oasis(servers, 8, price)
    worker_load, server_load = np.zeros((8, 2, 2)), np.zeros((8, 2, 2))
    for one in some:
        decision = oasis.offer(one)
        sizes = [int(part.workers.sum()) for part in decision.deployments]
        if decision.admitted:
            assert not decision.reason
            assert sum(sizes) >= one.work
            assert max(sizes) <= one.chunks
            assert decision.deployments[0].slot >= one.arrival
            assert decision.utility == one.utility(decision.end + 1 - one.arrival)
        else:
            assert decision.reason
        for part, size in zip(decision.deployments, sizes, strict=True):
            assert part.servers.sum() <= size
            assert part.servers.sum() * one.server[1] >= size * one.worker[1] * bool(one.server[1])
            worker_load[part.slot] += np.outer(part.workers, one.worker)
            server_load[part.slot] += np.outer(part.servers, one.server)
    assert (worker_load <= servers.workers + 1e-9).all()
    assert (server_load <= servers.servers + 1e-9).all()


def test_prices_as_printed_by_hand() -> None:
    # One job: 4 worker-slots, one GPU and one unit of bandwidth each; u(1) = 10 / (1 + e^(1 - 2)).
    one = job(work=4, chunks=4, utility=Sigmoid(10, 1, 2))
    servers = MachinePool.of(NAMES, [[4, 8]], [[0, 10]])
    found = paper_prices([one], servers, 5)
    best, latest = 10 / (1 + math.exp(-1)), 10 / (1 + math.exp(3))
    assert found.workers.high == pytest.approx([best, best])  # (23), by units of 1
    assert found.servers.high == pytest.approx([0, best / 2])  # (24): no GPU is demanded
    # (25): 1 / eta is the work of the one job, 4 * (1 + 1), by the capacity 5 * 12.
    assert found.workers.low == pytest.approx([(8 / 60) / 4 * latest / 8] * 2)
    assert found.workers(np.zeros((1, 2)), servers.workers) == pytest.approx(
        np.array([[(8 / 60) / 4 * latest / 8] * 2])
    )
    assert found.workers(servers.workers, servers.workers) == pytest.approx(np.full((1, 2), best))


def test_a_scarce_resource_has_the_price_of_the_last_job_that_fits() -> None:
    # Two of three jobs fit in the half of 4 GPU-slots that is counted: the second is the last.
    some = [job(str(worth), work=1, chunks=1, utility=Sigmoid(2 * worth)) for worth in (9, 5, 1)]
    servers = MachinePool.of(NAMES, [[2, 100]], [[0, 100]])
    found = calibrated_prices(some, servers, 2)
    assert found.workers.low[1] == found.servers.low[1] == 0
    assert 1 <= found.workers.low[0] <= 5
    assert found.workers.high[0] == pytest.approx(4 * found.workers.low[0])


def test_a_job_is_not_admitted_for_want_of_room_or_of_utility() -> None:
    oasis = Oasis(MachinePool.of(NAMES, [[2, 9]], [[0, 9]]), 3, prices(1, 1))
    assert oasis.offer(job(work=7)).reason == "it needs 7 worker-slots, more than are free"
    dear = oasis.offer(job(work=6, server=(0, 0), utility=Sigmoid(20)))
    assert dear.reason == "its utility is 10, below the cost of its resources, 12"
    assert oasis.offer(job(work=6, server=(0, 0), utility=Sigmoid(30))).admitted


def test_work_is_rounded_up_to_worker_slots_once() -> None:
    # 2 epochs of 3 chunks of 5 mini-batches at 0.11 slots: 3.3 worker-slots.
    one = ElasticJob("a", 0, 2, 3, 5, 0.11, (1, 1), (0, 0), 0, Sigmoid())
    assert (one.work, one.shortest) == (4, 2)
