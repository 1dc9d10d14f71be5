"""What is known of a run, against the same by the definitions."""

from __future__ import annotations

import random
import typing as t

import pytest

from benchmarks.cache_simulation.run_knowledge import RunKnowledge, RunSchedule
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
        order = chance.sample(RunSchedule(graph).remaining(), len(graph.jobs))
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
