"""The bounds of what caches save, against all that caches can do."""

from __future__ import annotations

import importlib
import itertools
import random
import typing as t
from pathlib import Path

import pytest

from benchmarks.cache_simulation import Machine, Storage, simulate
from couler.caching.graph import ArtifactGraph

pytestmark = pytest.mark.checkout

ROOT = Path(__file__).resolve().parents[2] / "benchmarks"
MACHINE = Machine(2, Storage(0.5, 10), Storage(0.25, 100), waits=False)


@pytest.fixture
def bounds(monkeypatch: pytest.MonkeyPatch) -> t.Any:
    monkeypatch.syspath_prepend(str(ROOT))
    return importlib.import_module("workloads.bounds")


class Chancy:
    """Keeps whatever a coin says, in place of whatever it says."""

    def __init__(self, graph: ArtifactGraph, capacity_bytes: int, coin: random.Random) -> None:
        self._size = graph.size_bytes
        self._capacity = capacity_bytes
        self._coin = coin
        self._held: set[int] = set()

    @property
    def used_bytes(self) -> int:
        return sum(self._size[artifact] for artifact in self._held)

    def holds(self, artifact: int) -> bool:
        return artifact in self._held

    def access(self, artifact: int) -> None:
        """Nothing to note."""

    def start(self, job: int) -> None:
        """Nothing to note."""

    def offer(self, artifact: int) -> bool:
        if self._coin.random() < 0.2 or self._size[artifact] > self._capacity:
            return False
        while self.used_bytes + self._size[artifact] > self._capacity:
            self._held.remove(self._coin.choice(sorted(self._held)))
        self._held.add(artifact)
        return True

    def end(self, job: int) -> None:
        """Nothing to note."""


def drawn(coin: random.Random, *, sizes: t.Sequence[int]) -> ArtifactGraph:
    """Five jobs and four artifacts, three of which jobs make."""
    producer = (None, 0, 1, 2)
    readers = tuple(
        tuple(sorted(coin.sample(range(0 if maker is None else maker + 1, 5), 2)))
        for maker in producer
    )
    return ArtifactGraph(
        jobs=tuple("abcde"),
        artifacts=tuple("wxyz"),
        producer=producer,
        readers=readers,
        size_bytes=tuple(coin.choice(sizes) for _ in producer),
        seconds=tuple(coin.randint(1, 4) for _ in range(5)),
    )


def best(graph: ArtifactGraph, found: t.Sequence[t.Any], capacity: int) -> float:
    """Return the most that any choice of intervals saves that fits at each event."""
    most = 0.0
    for chosen in itertools.product((False, True), repeat=len(found)):
        kept = [one for one, is_kept in zip(found, chosen, strict=True) if is_kept]
        fits = all(
            sum(graph.size_bytes[one.artifact] for one in kept if one.begins <= event < one.ends)
            <= capacity
            for event in range(2 * len(graph.jobs))
        )
        if fits:
            most = max(most, sum(one.profit_s for one in kept))
    return most


def test_intervals_of_a_run_worked_by_hand(bounds: t.Any) -> None:
    graph = ArtifactGraph(
        jobs=("a", "b"),
        artifacts=("raw", "made", "unread"),
        producer=(None, 0, 0),
        readers=((0, 1), (1,), ()),
        size_bytes=(10, 20, 30),
        seconds=(1, 1),
    )
    steps = simulate(graph, Chancy(graph, 0, random.Random(1)), MACHINE).steps
    # Events: a starts 0, a ends 1, b starts 2. The first read of raw is of nothing kept before.
    # raw: (0.5 + 10/10) - (0.25 + 10/100) = 1.15; made: 2.5 - 0.45 = 2.05.
    assert bounds.intervals(graph, steps, MACHINE) == [
        bounds.Interval(0, 0, 2, pytest.approx(1.15)),
        bounds.Interval(1, 1, 2, pytest.approx(2.05)),
    ]
    with pytest.raises(ValueError, match="only where misses are read again"):
        bounds.intervals(graph, steps, Machine(misses="recompute"))


def test_half_of_an_artifact_is_what_the_relaxation_gains(bounds: t.Any) -> None:
    graph = ArtifactGraph(
        jobs=("a", "b"),
        artifacts=("x", "y"),
        producer=(0, 0),
        readers=((1,), (1,)),
        size_bytes=(10, 10),
        seconds=(1, 1),
    )
    found = [bounds.Interval(0, 1, 2, 4.0), bounds.Interval(1, 1, 2, 2.0)]
    # 15 bytes have room for x and half of y; of whole ones, for x.
    assert bounds.linear(graph, found, 15).limit_s == pytest.approx(5)
    assert bounds.integral(graph, found, 15, limit_s=10).saving_s == pytest.approx(4)
    assert bounds.linear(graph, found, 9).limit_s == 0
    assert bounds.linear(graph, [], 100).limit_s == 0


@pytest.mark.parametrize("seed", range(20))
def test_bounds_are_those_of_all_choices(bounds: t.Any, seed: int) -> None:
    coin = random.Random(seed)
    for sizes in ((10,), (0, 5, 10, 25)):
        graph = drawn(coin, sizes=sizes)
        capacity = coin.choice((0, 10, 20, 30))
        report = simulate(graph, Chancy(graph, 0, coin), MACHINE)
        found = bounds.intervals(graph, report.steps, MACHINE)
        optimum = best(graph, found, capacity)
        whole = bounds.integral(graph, found, capacity, limit_s=10)
        assert whole.saving_s == pytest.approx(optimum)
        assert whole.gap == pytest.approx(0, abs=1e-6)
        limit = bounds.linear(graph, found, capacity).limit_s
        assert limit >= optimum - 1e-9
        if sizes == (10,):  # of equal sizes it is a flow, which needs no halves
            assert limit == pytest.approx(optimum)
        for _ in range(10):
            tried = simulate(graph, Chancy(graph, capacity, coin), MACHINE)
            assert tried.steps == report.steps
            assert report.read_s - tried.read_s <= optimum + 1e-9
