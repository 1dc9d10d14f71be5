"""The simulator on cases worked by hand, the baselines within capacity, and the bounds."""

from __future__ import annotations

import itertools
from collections.abc import Mapping

import numpy as np
import pytest

from benchmarks.scheduling.baselines import Packing, fill
from benchmarks.scheduling.bounds import optimum
from benchmarks.scheduling.comparison import SCHEMES, SchedulingCase, Scheme
from benchmarks.scheduling.migrations import (
    CurveJob,
    EvenCounts,
    NoMoves,
    fixed_schedule,
    random_schedule,
    run,
)
from benchmarks.scheduling.simulator import ActiveJob, Share, SimulationEvent, simulate
from benchmarks.scheduling.workloads import arrival_slots, kind_of, training_jobs
from couler.optimizers.scheduling.migration import RemainingWork, SpeCon
from couler.optimizers.scheduling.training import ElasticJob, MachinePool, Sigmoid


def small(seed: int, jobs: int = 12) -> SchedulingCase:
    return SchedulingCase.random(seed, jobs=jobs, machines=8, horizon=20)


@pytest.mark.parametrize(("scheme", "seed"), list(itertools.product(SCHEMES, range(3))))
def test_each_scheme_stays_within_the_machines_and_never_works_before_arrival(
    scheme: Scheme, seed: int
) -> None:
    case = small(seed)
    outcome = case.run(case.policy(scheme))
    jobs = {job.name: job for job in case.jobs}
    totals = case.servers.workers.sum(axis=0)
    for slot in range(case.horizon):
        now = [one for one in outcome.trace.spans if one.start <= slot < one.end - 1e-9]
        used = sum((np.array(jobs[one.job].worker) * one.share.speed for one in now), np.zeros(5))
        assert (used <= totals + 1e-6).all()
        assert all(one.share.speed <= jobs[one.job].chunks for one in now)
        assert all(slot >= jobs[one.job].arrival for one in now)
    done: dict[str, float] = {}
    for one in outcome.trace.spans:
        done[one.job] = done.get(one.job, 0) + one.share.speed * (one.end - one.start)
    for name in outcome.trace.ends:
        assert done[name] == pytest.approx(jobs[name].work)


@pytest.mark.parametrize("seed", range(4))
def test_no_scheme_is_better_than_the_optimum_and_that_not_than_the_bound(seed: int) -> None:
    case = SchedulingCase.random(seed, jobs=6, machines=6, horizon=8)
    best, bound = optimum(case.jobs, case.servers, case.horizon), case.bound()
    assert best <= bound + 1e-6
    for scheme in SCHEMES:
        assert case.run(case.policy(scheme)).utility <= best + 1e-6


def test_calibrated_prices_are_worth_more_than_printed_ones_where_machines_are_scarce() -> None:
    cases = [SchedulingCase.random(seed, jobs=40, machines=10, horizon=40) for seed in range(3)]
    totals = [
        sum(case.run(case.policy(scheme)).utility for case in cases)
        for scheme in ("OASiS-paper", "OASiS")
    ]
    assert totals[1] > 1.5 * totals[0]


def plain(name: str, *, chunks: int = 4, work: int = 4) -> ElasticJob:
    return ElasticJob(name, 0, 1, chunks, 1, work / chunks, (1.0,), (0.0,), 0.0, Sigmoid())


def test_progressive_filling_by_hand() -> None:
    servers = MachinePool.of(("gpu",), [[5], [4]])
    assert fill({"a": plain("a", chunks=9), "b": plain("b", chunks=2)}, servers) == {"a": 7, "b": 2}
    wide = ElasticJob("wide", 0, 1, 9, 1, 1, (3.0,), (0.0,), 0.0, Sigmoid())
    # wide takes 3 of the first machine, a then 2 of the second and 1 of the first: no room is left
    # for a second wide, and a takes what there is.
    assert fill({"wide": wide, "a": plain("a", chunks=9)}, servers) == {"wide": 1, "a": 6}


def test_workers_are_placed_in_turn_all_or_none() -> None:
    packing = Packing(MachinePool.of(("gpu",), [[2], [2], [1]]))
    assert packing.place(plain("a"), 6) is None
    [workers, _] = packing.place(plain("a"), 4) or pytest.fail("it fits")
    assert list(workers) == [2, 1, 1]
    assert packing.place(plain("b"), 2) is None
    assert packing.place(plain("b"), 1) is not None


class OneByOne:
    """Runs the job that arrived first at speed 2; wakes at 2.5."""

    wake = 2.5

    def __init__(self) -> None:
        self.times: list[float] = []

    def shares(
        self, event: SimulationEvent[CurveJob], running: Mapping[str, ActiveJob[CurveJob]]
    ) -> dict[str, Share]:
        self.times.append(event.now)
        self.wake = 2.5 if event.now < 2.5 else float("inf")
        return {name: Share(2.0) for name in list(running)[:1]}


def test_events_and_ends_by_hand() -> None:
    policy = OneByOne()
    jobs = [CurveJob("b", 1.0, 4.0, 1.0), CurveJob("a", 0.0, 3.0, 1.0)]
    trace = simulate(jobs, policy, tick=2.0)
    assert trace.ends == {"a": 1.5, "b": 3.5}
    assert policy.times == [0.0, 1.0, 1.5, 2.0, 2.5, 3.5]
    assert trace.makespan == 3.5


def test_a_policy_that_runs_nothing_is_an_error() -> None:
    policy = OneByOne()
    policy.shares = lambda event, running: {}  # type: ignore[method-assign]
    with pytest.raises(RuntimeError, match="no job runs"):
        simulate([CurveJob("a", 0.0, 3.0, 1.0)], policy, tick=1.0)


def test_two_jobs_share_a_processor_by_hand() -> None:
    # Both on one node: a has 10 s of work, b 4 s from 2 on. Shared from 2 to 10, then a alone.
    jobs = [CurveJob("a", 0.0, 10.0, 5.0), CurveJob("b", 2.0, 4.0, 5.0)]
    found = run(jobs, 1, NoMoves())
    assert found.trace.ends == {"a": pytest.approx(14.0), "b": pytest.approx(10.0)}
    assert found.mean == pytest.approx((14 + 8) / 2)


def test_a_move_takes_its_pause() -> None:
    # Nodes 1, 2: a and c on the first, b on the second, which ends at 10. At 30 c moves, 5 s.
    jobs = [CurveJob("a", 0, 100, 5), CurveJob("b", 0, 10, 5), CurveJob("c", 0, 100, 5)]
    found = run(jobs, 2, EvenCounts(["worker-1", "worker-2"]))
    assert [(at, one.job, one.target) for at, one in found.moves] == [(30.0, "a", "worker-2")]
    assert found.trace.ends["c"] == pytest.approx(30 + 85)
    assert found.trace.ends["a"] == pytest.approx(30 + 5 + 85)


def test_jobs_that_are_alike_gain_nothing_from_specon_and_the_mean_is_the_papers() -> None:
    names = [f"worker-{number}" for number in range(1, 5)]
    default, specon = run(fixed_schedule(), 4, NoMoves()), run(fixed_schedule(), 4, SpeCon(names))
    assert default.mean == pytest.approx(275.2, rel=0.02)
    assert specon.mean == pytest.approx(default.mean, rel=0.02)


def test_remaining_work_has_the_smallest_makespan_on_most_seeds() -> None:
    names = [f"worker-{number}" for number in range(1, 5)]
    wins = 0
    for seed in range(5):
        jobs = random_schedule(np.random.default_rng(seed), 20, 300.0)
        rules = (SpeCon(names), EvenCounts(names), RemainingWork(names))
        specon, even, ours = (run(jobs, 4, rule).trace.makespan for rule in rules)
        wins += ours < min(specon, even)
    assert wins >= 4


def test_workloads_are_what_they_say() -> None:
    rng = np.random.default_rng(1)
    jobs = training_jobs(rng, 300, 100)
    assert [job.arrival for job in jobs] == sorted(job.arrival for job in jobs)
    assert max(job.arrival + job.shortest for job in jobs) <= 100
    assert max(job.shortest for job in jobs) <= 12
    shares = [sum(kind_of(job) == kind for job in jobs) / 300 for kind in ("sensitive", "critical")]
    assert shares == pytest.approx([0.55, 0.35], abs=0.08)
    for arrivals in ("poisson", "google"):
        slots = arrival_slots(rng, 500, 100, arrivals)
        assert len(slots) == 500
        assert 0 <= slots[0] <= slots[-1] < 90
    bursts = [
        len(list(same)) for _, same in itertools.groupby(arrival_slots(rng, 500, 100, "google"))
    ]
    assert np.var(bursts) > 2 * np.mean(bursts)  # a Poisson process has one as large as the other
