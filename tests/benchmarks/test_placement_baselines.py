"""The baselines of the placement paper."""

from __future__ import annotations

import dataclasses
import importlib
import typing as t
from pathlib import Path

import pytest

from couler.cluster.model import Cluster, ClusterNode
from couler.optimizers.placement.problem import Pipeline, Task
from couler.optimizers.placement.speeds import Speeds
from couler.optimizers.placement.strategy import ClusterState

pytestmark = pytest.mark.checkout

ROOT = Path(__file__).resolve().parents[2] / "benchmarks"
GIB = 2**30
NODES = tuple(ClusterNode(f"n{number}", 4, 8 * GIB) for number in range(3))
STATE = ClusterState(Cluster((ClusterNode("small", 2, 4 * GIB), *NODES)), Speeds())
PIPELINES = [
    Pipeline.chain(f"p{number}", [Task("a"), Task("b", memory_bytes=3 * GIB), Task("c")])
    for number in range(4)
]


@pytest.fixture
def baselines(monkeypatch: pytest.MonkeyPatch) -> t.Any:
    monkeypatch.syspath_prepend(str(ROOT))
    return importlib.import_module("workloads.placement_baselines")


def test_round_robin_goes_on_where_it_was(baselines: t.Any) -> None:
    found = baselines.RoundRobin().place(PIPELINES[:2], STATE)
    # Three GiB of data need more than six, which small has not: it is passed over.
    assert list(found.nodes.values()) == ["small", "n0", "n1", "n2", "n0", "n1"]
    later = dataclasses.replace(STATE, last_node="n1", decisions=1)
    again = baselines.RoundRobin().place(PIPELINES[2:3], later)
    assert list(again.nodes.values()) == ["n2", "n0", "n1"]
    assert found.pipelines == ("p0", "p1")


@pytest.mark.parametrize("is_shuffled", [True, False])
def test_draws(baselines: t.Any, is_shuffled: bool) -> None:
    def kind(seed: int) -> t.Any:
        return baselines.RandomNodes(seed, is_shuffled)

    found = kind(seed=3).place(PIPELINES, STATE)
    assert found == kind(seed=3).place(PIPELINES, STATE)
    assert found.nodes != kind(seed=4).place(PIPELINES, STATE).nodes
    assert (
        found.nodes != kind(seed=3).place(PIPELINES, dataclasses.replace(STATE, decisions=1)).nodes
    )
    assert all(found.nodes[f"p{number}", "b"] != "small" for number in range(4))


def test_only_random_random_draws_the_order(baselines: t.Any) -> None:
    orders = {
        baselines.RandomNodes(seed, is_shuffled=True).place(PIPELINES, STATE).pipelines
        for seed in range(9)
    }
    assert len(orders) > 1
    first = baselines.RandomNodes(5).place(PIPELINES, STATE)
    assert first.pipelines == ("p0", "p1", "p2", "p3")
