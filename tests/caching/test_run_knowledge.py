"""What is known of a run, against the same by the definitions."""

from __future__ import annotations

import random
import typing as t

import pytest

from benchmarks.cache_simulation.run_knowledge import RunKnowledge
from benchmarks.cache_simulation.schedule import RunSchedule, start_order
from couler.caching.graph import ArtifactGraph
from couler.caching.importance import Reading
from tests.support.caching import (
    ForetoldKnowledge,
    PlainKnowledge,
    random_graph,
    random_reading_times,
)


def chain() -> ArtifactGraph:
    """raw -> load -> table -> clean -> rows -> fit -> model."""
    return ArtifactGraph(
        jobs=("load", "clean", "fit"),
        artifacts=("raw", "table", "rows", "model"),
        producer=(None, 0, 1, 2),
        readers=((0,), (1,), (2,), ()),
        size_bytes=(10, 10, 10, 10),
        seconds=(30.0, 20.0, 100.0),
    )


def facts(known: RunKnowledge | PlainKnowledge, key: str, asks: bool) -> tuple[float, ...]:
    importance = [
        ask(key, reading)
        for ask in (known.reconstruction, known.reuse)
        for reading in t.get_args(Reading)
        if asks
    ]
    return known.cost_s(key), known.readers_left(key), *importance


@pytest.mark.parametrize("asks", [False, True])
@pytest.mark.parametrize("max_jobs", [4, 12])
def test_all_changes_are_told(max_jobs: int, asks: bool) -> None:
    for seed in range(20):
        chance = random.Random(seed)
        graph = random_graph(chance, max_jobs)
        if not graph.artifacts:
            continue
        order = chance.sample(start_order(graph), len(graph.jobs))
        read_s = random_reading_times(chance, graph)
        known = RunKnowledge(graph, order=order, read_s=read_s)
        plain = PlainKnowledge(graph, order, read_s)
        before = {key: facts(known, key, asks) for key in graph.artifacts}
        for _ in range(60):
            key = chance.choice(graph.artifacts)
            job = chance.randrange(len(graph.jobs))
            kind = chance.choice(("start", "end", "keep", "keep"))
            if kind == "keep" and key in plain.kept:
                kind = "give_up"
            of = job if kind in ("start", "end") else key
            told = getattr(known, kind)(of)
            getattr(plain, kind)(of)
            after = {one: facts(plain, one, asks) for one in graph.artifacts}
            changed = {one for one in graph.artifacts if after[one] != before[one]}
            if kind == "give_up":  # nothing is told, as nothing of the others falls
                for one in changed - {key}:
                    pairs = zip(before[one], after[one], strict=True)
                    assert all(is_now >= was * (1 - 1e-12) for was, is_now in pairs), seed
            else:
                assert changed <= set(told), seed
                assert asks or changed == set(told), seed
            for one in graph.artifacts:
                assert facts(known, one, asks) == after[one], seed
                assert known.distance(one) == plain.distance(one), seed
            before = after


def test_distances_are_those_of_a_schedule_of_what_has_happened() -> None:
    for seed in range(100):
        chance = random.Random(seed)
        graph = random_graph(chance, max_jobs=12)
        known = RunKnowledge(graph, order=RunSchedule(graph, workers=2))
        plain = ForetoldKnowledge(graph, 2, None)
        before: dict[str, int | None] = {}
        for key in graph.artifacts:
            known.keep(key)
        for _ in range(2 * len(graph.jobs)):
            job = chance.randrange(len(graph.jobs))
            what = chance.choice(("start", "end"))
            told = getattr(known, what)(job)
            getattr(plain, what)(job)
            after = {key: known.distance(key) for key in graph.artifacts}
            assert after == {key: plain.distance(key) for key in graph.artifacts}, seed
            # What is further away than it was has been told of.
            for key, distance in before.items():
                now = after[key]
                assert key in told or (distance is None) == (now is None), seed
                assert key in told or not distance or not now or now <= distance, seed
            before = after


def test_a_long_order_is_not_foretold_at_each_step() -> None:
    """Forty jobs in a row: 16 times as many changes as are left make it time."""
    count = 40
    asked: list[int] = []

    class Noting(RunSchedule):
        def remaining(self) -> tuple[int, ...]:
            found = super().remaining()
            asked.append(len(found))
            return found

    graph = ArtifactGraph(
        jobs=tuple(f"job{job}" for job in range(count)),
        artifacts=("x",),
        producer=(0,),
        readers=((count - 1,),),
        size_bytes=(1,),
        seconds=(1.0,) * count,
        waits=tuple((job - 1,) if job else () for job in range(count)),
    )
    known = RunKnowledge(graph, order=Noting(graph))
    known.start(0)
    assert asked == [40]  # nobody has asked for a distance
    assert known.distance("x") == 39
    assert asked == [40, 39]
    distances = []
    for job in range(1, count):
        known.start(job)
        distances.append(known.distance("x"))
    assert distances == [*range(38, 0, -1), None]
    # 39 left: after 3 starts, when 3 * 16 >= 36; so down to 32, where 2 are enough, and 16.
    assert asked[2:7] == [36, 33, 31, 29, 27]
    assert asked[-16:] == list(range(15, -1, -1))


def test_what_comes_as_foretold_tells_of_nothing_else() -> None:
    """Of four readers side by side, each on a worker that is free then."""
    graph = ArtifactGraph(
        jobs=("make", "a", "b", "c", "d"),
        artifacts=("for a", "for b", "for c", "for d"),
        producer=(0,) * 4,
        readers=((1,), (2,), (3,), (4,)),
        size_bytes=(1,) * 4,
        seconds=(1.0,) * 5,
    )
    known = RunKnowledge(graph, order=RunSchedule(graph, workers=1))
    for key in graph.artifacts:
        known.keep(key)
        known.distance(key)
    assert known.start(0) == ()
    assert known.end(0) == ()
    assert known.start(1) == ("for a",)
    assert known.end(1) == ()
    assert known.start(3) == ("for c",)  # before its turn: no other is further away by that
    assert [known.distance(key) for key in graph.artifacts] == [None, 1, None, 2]


def test_what_is_further_away_than_foretold_is_told() -> None:
    """Of two chains side by side one is slower: its second job comes after the other's last."""
    graph = ArtifactGraph(
        jobs=("slow", "quick", "after slow", "after quick", "last"),
        artifacts=("x", "y", "z", "kept for slow"),
        producer=(0, 1, 3, None),
        readers=((2,), (3,), (4,), (2,)),
        size_bytes=(1,) * 4,
        seconds=(1.0,) * 5,
    )
    known = RunKnowledge(graph, order=RunSchedule(graph, workers=2))
    known.keep("kept for slow")
    assert known.distance("kept for slow") == 3
    known.start(0)
    known.start(1)
    assert known.distance("kept for slow") == 1
    assert known.end(1) == ("kept for slow",)
    assert known.distance("kept for slow") == 2


def test_a_job_starts_once() -> None:
    known = RunKnowledge(chain())
    assert known.start(0) == ("raw",)
    assert known.end(0) == ()
    assert known.readers_left("raw") == 0
    assert known.distance("raw") is None
