"""The registry of strategies, and the scores of Kubernetes by hand."""

from __future__ import annotations

import dataclasses

import pytest

from couler.cluster.model import Cluster, ClusterNode, Taint
from couler.errors import EngineOptionError, UnplaceableError
from couler.optimizers.passes.place import Place
from couler.optimizers.placement.problem import Pipeline, Task
from couler.optimizers.placement.speeds import Speeds
from couler.optimizers.placement.strategies.kubernetes import KubernetesScheduler
from couler.optimizers.placement.strategies.upward_rank import UpwardRank
from couler.optimizers.placement.strategy import (
    STRATEGIES,
    ClusterState,
    PlacementStrategy,
    read_strategy,
)

GIB = 2**30
SMALL = ClusterNode("small", 2, 4 * GIB)
NODES = tuple(ClusterNode(f"n{number}", 4, 8 * GIB) for number in range(3))
STATE = ClusterState(Cluster((SMALL, *NODES)), Speeds())


def one(task: Task) -> list[Pipeline]:
    return [Pipeline("p", (task,))]


def test_kubernetes_scores_by_hand() -> None:
    cluster = Cluster((ClusterNode("a", 4, 8 * GIB), ClusterNode("b", 8, 16 * GIB)))
    state = ClusterState(cluster, Speeds(), requested={"b": (4.0, 2 * GIB, 0, 1)})
    found = KubernetesScheduler().place(one(Task("t", cpu=1, memory_bytes=GIB)), state)
    # a: 3/4 and 6/8 are free: 75; the shares that are used are equal: 100; no taints: 300.
    # b: 3/8 and 12/16 are free: 56.25; the shares are 5/8 and 2/8: 100 (1 - 3/16) = 81.25; 300.
    assert found.nodes == {("p", "t"): "a"}
    assert found.choices[0].why == "scores 475"


def test_kubernetes_avoids_taints_that_prefer_it() -> None:
    tainted = dataclasses.replace(NODES[0], taints=(Taint("old", effect="PreferNoSchedule"),))
    state = ClusterState(
        Cluster((tainted, NODES[1])), Speeds(), requested={"n1": (3.9, 7 * GIB, 0, 2)}
    )
    found = KubernetesScheduler().place(one(Task("t", cpu=0.1)), state)
    assert found.nodes == {("p", "t"): "n1"}


def test_a_pod_for_which_there_is_no_room_waits() -> None:
    full = {node.name: (3.5, 0.0, 0, 1) for node in NODES}
    state = dataclasses.replace(STATE, requested={**full, "small": (2.0, 0.0, 0, 1)})
    assert KubernetesScheduler().place(one(Task("t", cpu=1)), state).nodes == {}
    with pytest.raises(UnplaceableError):
        KubernetesScheduler().place(one(Task("t", cpu=9)), state)


def test_own_strategies_are_frozen_dataclasses() -> None:
    for name in STRATEGIES.names():
        strategy = read_strategy(name)
        assert isinstance(strategy, PlacementStrategy)
        assert dataclasses.is_dataclass(strategy)
        assert hash(strategy) == hash(read_strategy(name))


def test_options_are_read() -> None:
    assert read_strategy("upward-rank{objective=cost, evaluations=10}") == UpwardRank("cost", 10)
    assert read_strategy(Place().strategy) == UpwardRank()
    with pytest.raises(EngineOptionError, match="Did you mean"):
        read_strategy("upward-rnak")
    with pytest.raises(EngineOptionError, match='upward-rank has no option "goal"'):
        read_strategy("upward-rank{goal=cost}")
