"""A cache does what one does that asks for all worths at each eviction."""

from __future__ import annotations

import random
import typing as t
from collections.abc import Mapping
from dataclasses import dataclass

import pytest

from benchmarks.cache_simulation.cache import BudgetedCache, Verdict
from benchmarks.cache_simulation.run_knowledge import RunKnowledge, RunSchedule
from couler.caching.graph import ArtifactGraph
from couler.caching.policies.next_use import NextUseDensity
from couler.caching.policies.simple import KeepAll, KeepNone, LeastRecentlyUsed
from couler.caching.policy import CachePolicy, Knowledge
from couler.caching.registry import policy_names, read_policy
from couler.errors import CachePolicyError
from tests.support.caching import (
    ForetoldKnowledge,
    PlainCache,
    PlainKnowledge,
    random_graph,
    random_reading_times,
)


@dataclass(frozen=True)
class Fickle:
    """A third party's policy: worths fall, without anyone saying so, as age and jobs go on."""

    def admit(self, key: str, known: Knowledge) -> str | None:
        return None

    def on_access(self, key: str, known: Knowledge) -> float:
        return -known.uses(key)

    def worth(self, key: str, known: Knowledge) -> float:
        return known.credit(key) + (known.distance(key) or 3) % 3 - known.age % 2


@dataclass(frozen=True)
class MostRecentlyUsed:
    """One whose worths fall, but only by what the cache is told."""

    worths_only_rise: t.ClassVar[bool] = True

    def admit(self, key: str, known: Knowledge) -> str | None:
        return None

    def on_access(self, key: str, known: Knowledge) -> float:
        return 0.0

    def worth(self, key: str, known: Knowledge) -> float:
        return -known.last_used(key)


@dataclass(frozen=True)
class CheapestToRestore(MostRecentlyUsed):
    """One whose worths fall when others are given up, so that it cannot promise that none does."""

    worths_only_rise: t.ClassVar[bool] = False

    def worth(self, key: str, known: Knowledge) -> float:
        return -known.cost_s(key)


POLICIES: list[CachePolicy] = [
    *map(read_policy, policy_names()),
    Fickle(),
    MostRecentlyUsed(),
    CheapestToRestore(),
]


@pytest.mark.slow
@pytest.mark.parametrize("policy", POLICIES, ids=repr)
def test_as_if_all_worths_were_asked_for(policy: CachePolicy) -> None:
    for seed in range(100):
        try:
            _compare(policy, random.Random(seed))
        except AssertionError as error:
            error.add_note(f"seed {seed}")
            raise


def _compare(policy: CachePolicy, chance: random.Random) -> None:
    graph = random_graph(chance)
    workers = chance.randint(1, 3)
    read_s = random_reading_times(chance, graph)
    if chance.randint(0, 1):
        known = RunKnowledge(graph, order=RunSchedule(graph, workers), read_s=read_s)
        plain_known: PlainKnowledge = ForetoldKnowledge(graph, workers, read_s)
    else:
        order = RunSchedule(graph, workers).remaining()
        known = RunKnowledge(graph, order=order, read_s=read_s)
        plain_known = PlainKnowledge(graph, order, read_s)
    capacity = chance.randint(0, 30)
    cache = BudgetedCache(capacity, policy, known)
    plain = PlainCache(capacity, policy, plain_known)
    whats = chance.choices(
        ("offer", "access", "start"),
        weights=(8, 4, 2),
        k=60 if graph.artifacts else 0,
    )
    for what in whats:
        key = chance.choice(graph.artifacts)
        if what == "start":
            job = chance.randrange(len(graph.jobs))
            happened = chance.choice(("start", "end"))
            cache.refresh(getattr(known, happened)(job))
            getattr(plain_known, happened)(job)
        elif what == "offer":
            verdict = cache.offer(key)
            assert (verdict.admitted, verdict.evicted) == plain.offer(key)
            assert verdict.admitted == (not verdict.reason)
        else:
            assert cache.access(key) == plain.access(key)
        assert set(cache) == set(plain.kept)
        assert cache.used_bytes == plain.used_bytes
        assert cache.age == plain.age
        assert cache.used_bytes <= cache.capacity_bytes
        for one in graph.artifacts:
            assert known.cost_s(one) == plain_known.cost_s(one)
            assert known.distance(one) == plain_known.distance(one)
            assert known.readers_left(one) == plain_known.readers_left(one)


def graph_of(**sizes: int) -> ArtifactGraph:
    """One job makes all, and another reads all."""
    return ArtifactGraph(
        jobs=("make", "read"),
        artifacts=tuple(sizes),
        producer=(0,) * len(sizes),
        readers=((1,),) * len(sizes),
        size_bytes=tuple(sizes.values()),
        seconds=(10.0, 1.0),
    )


def cache_of(capacity_bytes: int, policy: CachePolicy, **sizes: int) -> BudgetedCache:
    return BudgetedCache(capacity_bytes, policy, RunKnowledge(graph_of(**sizes)))


def test_the_least_worth_goes() -> None:
    cache = cache_of(100, NextUseDensity(), large=60, medium=30, small=20)
    assert cache.offer("large").admitted
    assert cache.offer("medium").admitted
    assert cache.offer("small") == Verdict(admitted=True, evicted=("large",))
    assert set(cache) == {"medium", "small"}
    assert cache.age == pytest.approx(10 / 60 / 2)


@dataclass(frozen=True)
class Valued(MostRecentlyUsed):
    """Holds what it was told to be worth most."""

    worths: Mapping[str, float]

    def worth(self, key: str, known: Knowledge) -> float:
        return self.worths[key]


def test_nothing_is_evicted_in_vain() -> None:
    worths = {"least": 1.0, "most": 3.0, "newcomer": 2.0, "small": 2.0}
    cache = cache_of(100, Valued(worths), least=30, most=70, newcomer=50, small=30)
    cache.offer("least")
    cache.offer("most")
    verdict = cache.offer("newcomer")  # would need the room of both
    assert verdict == Verdict(
        admitted=False, reason="is worth less than what would have to go for it"
    )
    assert set(cache) == {"least", "most"}
    assert cache.used_bytes == 100
    assert cache.age == 0
    assert cache.offer("small").evicted == ("least",)
    assert cache.age == 1


def test_what_is_larger_than_the_cache_is_refused() -> None:
    cache = cache_of(100, LeastRecentlyUsed(), first=1, huge=101)
    cache.offer("first")
    assert cache.offer("huge").reason == "takes 101 bytes, and the cache holds 100"
    assert set(cache) == {"first"}


def test_an_offer_of_what_is_kept_is_no_use_of_it() -> None:
    cache = cache_of(100, LeastRecentlyUsed(), a=50, b=50, c=50)
    cache.offer("a")
    cache.offer("b")
    assert cache.offer("a") == Verdict(admitted=True)
    assert cache.offer("c").evicted == ("a",)


def test_all_keeps_what_was_first() -> None:
    cache = cache_of(100, KeepAll(), a=50, b=40, c=50, d=10)
    assert [cache.offer(key).admitted for key in "abcd"] == [True, True, False, True]


def test_none_keeps_nothing() -> None:
    cache = cache_of(100, KeepNone(), a=1)
    assert cache.offer("a").reason == "nothing is kept: the policy is none"
    assert not cache.access("a")


def test_what_nobody_reads_any_more_is_refused_and_goes_first() -> None:
    graph = graph_of(a=50, b=50)
    known = RunKnowledge(graph)
    cache = BudgetedCache(100, NextUseDensity(), known)
    cache.offer("a")
    cache.refresh(known.start(1))
    assert cache.offer("b").reason == "has no reader left"


def test_a_worth_must_be_a_number() -> None:
    @dataclass(frozen=True)
    class Nan(MostRecentlyUsed):
        def worth(self, key: str, known: Knowledge) -> float:
            return float("nan")

    with pytest.raises(
        CachePolicyError, match=r"Nan: worth says nan of 'a', which is not a number"
    ):
        cache_of(10, Nan(), a=1).offer("a")


def test_a_capacity_is_not_negative() -> None:
    with pytest.raises(ValueError, match="a cache of -1 bytes"):
        cache_of(-1, KeepAll(), a=1)
