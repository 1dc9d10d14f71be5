"""What each policy holds artifacts to be worth, worked out by hand."""

from __future__ import annotations

import math

import pytest

from benchmarks.cache_simulation.cache import BudgetedCache
from benchmarks.cache_simulation.run_knowledge import RunKnowledge
from couler.caching.graph import ArtifactGraph
from couler.caching.registry import read_policy

# load -> data (100 bytes, read by all three) -> fit -> model (10 bytes) -> test, tell
GRAPH = ArtifactGraph(
    jobs=("load", "fit", "test", "tell"),
    artifacts=("data", "model", "note"),
    producer=(0, 1, 1),
    readers=((1, 2, 3), (2, 3), (3,)),
    size_bytes=(100, 10, 0),
    seconds=(5.0, 60.0, 1.0, 1.0),
)


class Told(RunKnowledge):
    """What is known of the run, and what a cache might have counted."""

    capacity_bytes = 200
    age = 3.0

    def admitted(self, key: str) -> int:
        return {"data": 1, "model": 2, "note": 3}[key]

    def last_used(self, key: str) -> int:
        return {"data": 7, "model": 6, "note": 5}[key]

    def uses(self, key: str) -> int:
        return {"data": 4, "model": 2, "note": 1}[key]

    def credit(self, key: str) -> float:
        return {"data": 0.25, "model": 0.5, "note": 0.75}[key]


@pytest.mark.parametrize(
    ("policy", "worths"),
    [
        ("none", (0, 0, 0)),
        ("all", (-1, -2, -3)),
        ("fifo", (1, 2, 3)),
        ("lru", (7, 6, 5)),
        ("gdsf", (0.25, 0.5, 0.75)),
        ("lrc", (3, 2, 1)),
        # 5 seconds to load; 65 to load and fit. What is empty counts as one byte.
        ("lrc-density", (3 * 5 / 100, 2 * 65 / 10, 65)),
        # Jobs start in the order load, fit, test, tell: data is read by the second.
        ("next-use", (5 / (100 * 2), 65 / (10 * 3), 65 / 4)),
    ],
)
def test_worth(policy: str, worths: tuple[float, ...]) -> None:
    known = Told(GRAPH)
    found = [read_policy(policy).worth(key, known) for key in GRAPH.artifacts]
    assert found == pytest.approx(worths)


def test_next_use_follows_the_run() -> None:
    known = Told(GRAPH)
    policy = read_policy("next-use")
    known.start(0)
    assert policy.worth("data", known) == 5 / 100
    known.keep("data")
    assert policy.worth("model", known) == 60 / (10 * 2)
    known.start(1)
    known.start(2)
    assert policy.worth("model", known) == 60 / 10
    assert policy.admit("model", known) is None
    known.start(3)
    assert policy.worth("model", known) == 0
    assert policy.admit("model", known) == "has no reader left"


def test_gdsf_forgets() -> None:
    graph = ArtifactGraph(
        jobs=("make", "read"),
        artifacts=("often", "once", "twice", "third", "fourth"),
        producer=(0,) * 5,
        readers=((1,),) * 5,
        size_bytes=(10,) * 5,
        seconds=(10.0, 1.0),
    )
    cache = BudgetedCache(20, read_policy("gdsf"), RunKnowledge(graph))
    cache.offer("often")
    cache.access("often")  # worth 2
    cache.offer("once")  # worth 1
    assert cache.offer("twice").evicted == ("once",)  # worth 1 too: nothing had been evicted yet
    assert cache.age == 1
    assert cache.offer("third").evicted == ("twice",)  # worth 1 + 1 from now on
    assert cache.offer("fourth").evicted == ("often",)  # of equals the one used longest ago
    assert cache.age == 2


def test_importance_is_that_of_equation_6() -> None:
    known = Told(GRAPH)
    # model: w is 1 for both jobs; load has degree 3, fit 3 (load; test, tell): L = 1 + 1 + 3 * 3.
    # Both of its readers are direct: F = 2 + 2. V = 10 / 200.
    expected = 1.5 * math.log(1 + 11) + 16 - (1 - math.exp(-10 / 200))
    assert read_policy("couler").worth("model", known) == pytest.approx(expected)
    # As printed: L = 1 + 3 * 3, direct readers count nothing, and V is in bytes.
    expected = 1.5 * math.log(1 + 10) - math.exp(-10)
    assert read_policy("couler-paper").worth("model", known) == pytest.approx(expected)
    expected = 2 * math.log(1 + 11) + 0.5 * 16 - (1 - math.exp(-10 / 200))
    assert read_policy("couler{alpha=2, beta=0.5}").worth("model", known) == pytest.approx(expected)


@pytest.mark.parametrize("policy", ["all", "fifo", "lru", "gdsf", "lrc", "couler", "couler-paper"])
def test_what_nobody_reads_may_be_kept(policy: str) -> None:
    known = Told(GRAPH)
    for job in range(4):
        known.end(job)
    assert read_policy(policy).admit("data", known) is None
