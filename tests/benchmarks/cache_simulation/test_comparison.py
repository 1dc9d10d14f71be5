"""What policies make of a run, beside what any could."""

from __future__ import annotations

import random

import pytest

from benchmarks.cache_simulation import Machine, Storage, compare
from benchmarks.cache_simulation.comparison import least_read_s
from couler.caching.graph import ArtifactGraph
from couler.caching.registry import policy_names, read_policy
from tests.support.caching import random_graph

REMOTE = Storage(1, 2, 2)
STORES = [Storage(), Storage(0.5, 4, 4), Storage(3, 1, 1)]


@pytest.mark.parametrize("misses", ["reread", "recompute"])
@pytest.mark.parametrize("cache", STORES, ids=["free", "quick", "slow"])
def test_no_policy_saves_more_than_can_be_saved(misses: str, cache: Storage) -> None:
    policies = {name: read_policy(name) for name in policy_names()}
    chance = random.Random(5)
    reached = 0
    for _ in range(25):
        graph = random_graph(chance)
        total = sum(graph.size_bytes)
        machine = Machine(chance.randint(1, 3), REMOTE, cache, misses)  # type: ignore[arg-type]  # one of two
        for found in compare(graph, policies, (total // 2, total), machine):
            for name in policies:
                saved = found.saved(name)
                assert saved is None or saved <= 1 + 1e-9, (graph, name)
                assert found.reports[name].read_s >= found.least_read_s - 1e-9
                reached += saved is not None and saved > 1 - 1e-9
            # Without a cache nothing is saved, by whichever name.
            assert found.saved("none") in (None, 0)
    if cache == Storage():
        assert reached > 50


def test_the_least_is_read_from_where_it_is_quicker() -> None:
    graph = ArtifactGraph(
        jobs=("load", "fit", "test"),
        artifacts=("raw", "table", "log", "unread"),
        producer=(None, 0, 0, 1),
        readers=((0, 2), (1, 2), (2,), ()),
        size_bytes=(10, 20, 30, 40),
        seconds=(4, 60, 2),
    )
    quick = Machine(remote=REMOTE, cache=Storage(0, 10))
    # raw from outside 1 + 10/2 and then 10/10; the table twice 20/10; the log 30/10.
    assert least_read_s(graph, quick) == 6 + 1 + 2 * 2 + 3
    slow = Machine(remote=REMOTE, cache=Storage(0, 1))
    # All from the remote store: raw twice 6, the table twice 11, the log 16.
    assert least_read_s(graph, slow) == 2 * 6 + 2 * 11 + 16
    again = Machine(remote=REMOTE, cache=Storage(0, 1), misses="recompute")
    # raw twice 6; table and log come out of load, 4 s for both.
    assert least_read_s(graph, again) == 2 * 6 + 2 * 2 + 2


def test_policies_are_told_run_times_only_if_asked_for() -> None:
    chance = random.Random(3)
    graphs = [random_graph(chance, max_jobs=30) for _ in range(20)]
    policies = {"next-use": read_policy("next-use")}
    differ = 0
    for graph in graphs:
        size = (sum(graph.size_bytes) // 4,)
        (blind,) = compare(graph, policies, size, Machine(2, REMOTE))
        (told,) = compare(graph, policies, size, Machine(2, REMOTE), told_seconds=graph.seconds)
        assert blind.without == told.without
        differ += blind.reports != told.reports
    assert differ
