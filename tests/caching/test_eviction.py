"""What goes for lack of room: the same in memory, in the database, and in the entries of a cluster.

Artifacts are called a, b and so on in the order in which they come, of which to LRU the first is
worth least.
"""

from __future__ import annotations

import random
import typing as t
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import replace
from datetime import timedelta
from functools import partial
from pathlib import Path

import pytest

from benchmarks.cache_simulation.cache import BudgetedCache
from benchmarks.cache_simulation.run_knowledge import RunKnowledge
from couler.backends.shared_entries import CacheEntry, CacheView
from couler.budget.judging import Budget, Judge
from couler.caching.eviction import (
    Candidate,
    Shortage,
    is_outweighed,
    least_first,
    take_cheapest,
    take_least,
)
from couler.caching.graph import ArtifactGraph
from couler.caching.policies.next_use import NextUseDensity
from couler.caching.policies.simple import LeastRecentlyUsed
from couler.caching.registry import read_policy
from couler.control.cache_sync import sync_entries
from couler.state import create_run, open_database
from couler.state.admission import count_hit, evict_entries, settle_offer
from couler.state.cache import list_entries, look_up
from couler.state.entries import Offer
from couler.store.run_files import RunFiles
from tests.state.samples import IR, NOON, RUN

Shrink: t.TypeAlias = Callable[[Path, Sequence[int], int], str]
"""Returns what goes of artifacts of such sizes, to bring them under a budget."""


def cache_of(capacity: int, sizes: Sequence[int]) -> BudgetedCache:
    count = len(sizes)
    graph = ArtifactGraph(
        jobs=("make", "read"),
        artifacts=tuple("abcdefgh"[:count]),
        producer=(0,) * count,
        readers=((1,),) * count,
        size_bytes=tuple(sizes),
        seconds=(1.0, 1.0),
    )
    return BudgetedCache(capacity, LeastRecentlyUsed(), RunKnowledge(graph))


def in_the_database(folder: Path, sizes: Sequence[int], budget: int) -> str:
    with open_database(f"sqlite:///{folder}/couler.db") as database:
        create_run(database, RUN, IR)
        for name, size in zip("abcdefgh", sizes, strict=False):
            settle_offer(database, offer(name, size), Judge().settle)
        gone = evict_entries(database, Judge(Budget.choose("lru", budget)).shrink)
    return "".join(kept.path for kept, _ in gone)


def offer(name: str, size: int, run_id: str = RUN.id) -> Offer:
    key = name * 64
    return Offer(key, "w", name, size, 1.0, run_id, name, name, {}, (key,), NOON)


class Elsewhere:
    """Entries of an engine elsewhere, each with a file of its name."""

    def __init__(self, names: str) -> None:
        self._names = names

    def view(self) -> CacheView:
        made = [NOON + timedelta(hours=number) for number in range(len(self._names))]
        entries = (
            CacheEntry("map", name, "", f"make-{name}", at, at, 1.0, (name,))
            for name, at in zip(self._names, made, strict=True)
        )
        return CacheView(tuple(entries), frozenset())

    def remove(self, entries: Collection[CacheEntry]) -> tuple[CacheEntry, ...]:
        return tuple(entries)

    def put_aside(self, entries: Collection[CacheEntry]) -> None:
        raise AssertionError("all files can be removed")

    def missed(self, place: Mapping[str, t.Any]) -> frozenset[str]:
        return frozenset()


def of_a_cluster(folder: Path, sizes: Sequence[int], budget: int) -> str:
    names = "abcdefgh"[: len(sizes)]
    for name, size in zip(names, sizes, strict=True):
        (folder / name).write_bytes(b"x" * size)
    report = sync_entries(
        Elsewhere(names),
        RunFiles(str(folder)),
        LeastRecentlyUsed(),
        budget_bytes=budget,
        now=NOON + timedelta(days=9),
    )
    assert {file.name for file in folder.iterdir()} == {*names} - {
        one.entry.key for one in report.removed
    }
    return "".join(one.entry.key for one in report.removed)


@pytest.mark.parametrize("shrink", [in_the_database, of_a_cluster])
@pytest.mark.parametrize(
    ("sizes", "budget", "gone"),
    [
        ((400, 600), 500, "b"),  # the second frees enough: the first need not go
        ((400, 600), 400, "b"),
        ((400, 600), 399, "ab"),
        ((300, 100, 600), 600, "ab"),  # the third is worth most, and is not asked for
        ((100, 300, 200, 400), 700, "b"),  # of the first two the dearer is enough
        ((100, 200, 50, 300), 400, "ab"),  # 250 are missing: neither is enough alone
        ((100, 50, 200, 300), 400, "ac"),  # of what need not go the dearest stays first
        ((5, 5), 10, ""),
        ((5, 5), 0, "ab"),
    ],
)
def test_what_goes_is_least_and_needed(
    tmp_path: Path, shrink: Shrink, sizes: Sequence[int], budget: int, gone: str
) -> None:
    assert shrink(tmp_path, sizes, budget) == gone


def test_what_is_not_needed_to_make_room_stays(tmp_path: Path) -> None:
    cache = cache_of(1000, (400, 600, 500))
    assert [cache.offer(name).evicted for name in "abc"] == [(), (), ("b",)]
    assert (set(cache), cache.used_bytes, cache.age) == ({"a", "c"}, 900, 2)
    with open_database(f"sqlite:///{tmp_path}/couler.db") as database:
        create_run(database, RUN, IR)
        judge = Judge(Budget.choose("lru", 1000))
        settled = [
            settle_offer(database, offer(name, size), judge.settle)
            for name, size in (("a", 400), ("b", 600), ("c", 500))
        ]
    assert [[kept.path for kept, _ in one.evicted] for one in settled] == [[], [], ["b"]]


@pytest.mark.parametrize("policy", ["lru", "fifo", "gdsf"])
def test_in_memory_and_in_the_database_the_same_stays(tmp_path: Path, policy: str) -> None:
    """One trace of offers and reads, with policies that look at nothing but these."""
    chance = random.Random(1)
    names = "abcdefghij"
    sizes = {name: chance.randint(50, 400) for name in names}
    costs = {name: float(chance.randint(1, 50)) for name in names}
    graph = ArtifactGraph(
        jobs=(*names, "read"),
        artifacts=tuple(names),
        producer=tuple(range(len(names))),
        readers=((len(names),),) * len(names),
        size_bytes=tuple(sizes.values()),
        seconds=(*costs.values(), 1.0),
    )
    cache = BudgetedCache(1000, read_policy(policy), RunKnowledge(graph))
    judge = Judge(Budget.choose(policy, 1000))
    hits = refused = evicted = 0
    with open_database(f"sqlite:///{tmp_path}/couler.db") as database:
        create_run(database, RUN, IR)
        for _ in range(60):
            name = chance.choice(names)
            if cache.access(name):
                entry = look_up(database, name * 64)
                assert entry is not None
                count_hit(database, entry, NOON, partial(judge.credit_of, entry=entry))
                hits += 1
                continue
            given = replace(offer(name, sizes[name]), cost_s=costs[name])
            settled = settle_offer(database, given, judge.settle)
            told = cache.offer(name)
            assert told.admitted == (settled.decision.decision == "stored")
            assert sorted(told.evicted) == sorted(kept.path for kept, _ in settled.evicted)
            assert set(cache) == {entry.path for entry in list_entries(database)}
            refused += not told.admitted
            evicted += len(told.evicted)
    assert hits
    assert evicted
    assert bool(refused) == (policy == "gdsf")


def test_room_within_a_run_may_be_room_for_all(tmp_path: Path) -> None:
    """What has to go for all frees enough of the run's own share, too."""
    with open_database(f"sqlite:///{tmp_path}/couler.db") as database:
        create_run(database, RUN, IR)
        for name, size in (("a", 10), ("b", 60)):
            settle_offer(database, offer(name, size), Judge().settle)
        judge = Judge(Budget.choose("lru", 80, 75))
        settled = settle_offer(database, offer("c", 40), judge.settle)
    assert [kept.path for kept, _ in settled.evicted] == ["b"]


def test_what_loses_least_of_what_is_missing_goes_next() -> None:
    """Against the definition, asked of all that is left each time."""
    for seed in range(300):
        chance = random.Random(seed)
        drawn = [
            Candidate(chance.random(), number, str(number), chance.randint(1, 9))
            for number in range(chance.randint(0, 8))
        ]
        missing = most = chance.randint(-2, 40)
        left, expected = list(drawn), []
        while missing > 0 and left:
            costs = [one.worth * one.size_bytes / min(one.size_bytes, missing) for one in left]
            expected.append(left.pop(costs.index(min(costs))))
            missing -= expected[-1].size_bytes
        assert take_cheapest(drawn, most) == expected


def test_something_small_does_not_drive_out_something_large_and_dear() -> None:
    """Of 4 s in 100 bytes and 0.18 s in one, one byte is missing: as if by density, 4 s went."""
    large, small = Candidate(0.04, 2, "large", 100), Candidate(0.18, 1, "small", 1)
    assert take_least(least_first([large, small]), 1) == [large]
    assert take_cheapest([large, small], 1) == [small]


@pytest.mark.parametrize(
    ("gone", "refused", "together"),
    [
        ([], False, False),
        ([(1.2, 600)], False, True),  # 720 s are lost, and 2 (100 + 500 / 2) come
        ([(1.0, 300)], False, False),
        ([(3.0, 60), (1.0, 40)], True, True),
        ([(1.0, 40), (2.5, 60)], True, False),  # dearer than the newcomer, but not together
    ],
)
def test_what_a_newcomer_is_compared_with(
    gone: Sequence[tuple[float, int]], refused: bool, together: bool
) -> None:
    newcomer = Candidate(2.0, 9, "n", 100)
    others = [Candidate(worth, 1, str(at), size) for at, (worth, size) in enumerate(gone)]
    missing = Shortage(100)
    assert is_outweighed(newcomer, others, missing) is refused
    assert is_outweighed(newcomer, others, missing, are_densities=True) is together


def test_something_large_does_not_go_for_little() -> None:
    graph = ArtifactGraph(
        jobs=("train", "note", "fit", "read"),
        artifacts=("large", "little", "medium"),
        producer=(0, 1, 2),
        readers=((3,), (3,), (3,)),
        size_bytes=(900, 110, 500),
        seconds=(90.0, 12.0, 60.0, 1.0),
    )
    cache = BudgetedCache(1000, NextUseDensity(), RunKnowledge(graph))
    assert cache.offer("large").admitted
    assert not cache.offer("little").admitted  # for each byte it saves more, but 12 s of 90
    assert cache.offer("medium").evicted == ("large",)
    assert cache.offer("little").evicted == ()
