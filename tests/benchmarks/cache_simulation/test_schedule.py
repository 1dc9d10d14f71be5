"""The order in which jobs are expected to start."""

from __future__ import annotations

import random

import pytest

from benchmarks.cache_simulation.run_knowledge import RunSchedule
from couler.caching.graph import ArtifactGraph
from tests.support.caching import random_graph


def flat(*seconds: float) -> ArtifactGraph:
    count = len(seconds)
    return ArtifactGraph(
        jobs=tuple(f"job{job}" for job in range(count)),
        artifacts=(),
        producer=(),
        readers=(),
        size_bytes=(),
        seconds=seconds,
    )


@pytest.mark.parametrize("workers", [1, 2, 3, None])
def test_no_job_starts_before_those_that_it_waits_for(workers: int | None) -> None:
    for seed in range(50):
        graph = random_graph(random.Random(seed), max_jobs=12)
        for seconds in (None, graph.seconds):
            order = RunSchedule(graph, workers, seconds).remaining()
            assert sorted(order) == list(range(len(graph.jobs)))
            rank = {job: rank for rank, job in enumerate(order)}
            for job, before in enumerate(graph.predecessors):
                assert all(rank[one] < rank[job] for one in before)


def test_what_runs_takes_the_rest_of_its_seconds() -> None:
    # a 0-10, b 0-4; b ends, then c 4-11: what follows on a is ready before what follows on c.
    graph = ArtifactGraph(
        jobs=("a", "b", "c", "after c", "after a"),
        artifacts=("x", "y"),
        producer=(2, 0),
        readers=((3,), (4,)),
        size_bytes=(1, 1),
        seconds=(10.0, 4.0, 7.0, 1.0, 1.0),
    )
    for seconds, after in ((graph.seconds, (4, 3)), (None, (3, 4))):
        schedule = RunSchedule(graph, workers=2, seconds=seconds)
        schedule.start(0)
        schedule.start(1)
        schedule.end(1)
        schedule.start(2)
        assert schedule.remaining() == after


def test_what_remains_is_all_that_has_not_started_in_an_order_that_can_be() -> None:
    for seed in range(50):
        chance = random.Random(seed)
        graph = random_graph(chance, max_jobs=12)
        schedule = RunSchedule(graph, chance.randint(1, 3))
        started: set[int] = set()
        for _ in graph.jobs:
            job = chance.randrange(len(graph.jobs))
            started.add(job)
            chance.choice((schedule.start, schedule.end))(job)
            order = schedule.remaining()
            assert sorted([*order, *started]) == list(range(len(graph.jobs)))
            rank = {one: rank for rank, one in enumerate(order)}
            for one in order:
                assert all(rank.get(before, -1) < rank[one] for before in graph.predecessors[one])


def test_what_makes_no_sense_is_refused() -> None:
    with pytest.raises(ValueError, match="0 workers"):
        RunSchedule(flat(1.0), workers=0)
    with pytest.raises(ValueError, match="2 durations for 1 jobs"):
        RunSchedule(flat(1.0), seconds=(1.0, 2.0))
