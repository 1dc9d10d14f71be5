"""Once a cluster has changed, only what has not started is decided anew."""

from __future__ import annotations

import random
import typing as t

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from couler.cluster.model import Cluster, ClusterNode
from couler.errors import UnplaceableError
from couler.optimizers.placement.problem import Assignment, Pipeline, Task
from couler.optimizers.placement.replanning import Started, replan
from couler.optimizers.placement.speeds import Speeds
from couler.optimizers.placement.strategies.shortest_job_groups import ShortestJobGroups
from couler.optimizers.placement.strategies.upward_rank import UpwardRank
from couler.optimizers.placement.strategy import ClusterState, Rules

GIB = 2**30
A, B, C = (ClusterNode(name, 4, 8 * GIB) for name in "abc")
SPEEDS = Speeds({("", ""): 1.0})
RULES = Rules("tasks", window_s=0, poll_s=0)
PIPELINES = [
    Pipeline.chain("p", [Task(name, operations=10) for name in ("one", "two", "three")]),
    Pipeline.chain("q", [Task(name, operations=10) for name in ("one", "two")]),
]
KEYS = (("p", "one"), ("p", "two"), ("q", "one"), ("p", "three"), ("q", "two"))
BEFORE = Assignment(dict(zip(KEYS, "aabaa", strict=True)), KEYS)
STARTED = {
    ("p", "one"): Started("a", 0.0, 10.0),
    ("p", "two"): Started("a", 10.0),
    ("q", "one"): Started("b", 8.0),
}


def state(*nodes: ClusterNode) -> ClusterState:
    return ClusterState(Cluster(nodes), SPEEDS, RULES, now_s=12.0)


def test_a_node_that_failed() -> None:
    found = replan(PIPELINES, UpwardRank(), state(B), STARTED, BEFORE)
    # What ended on a stays, what ran there starts again, q's first task goes on.
    assert found.kept == (("p", "one"), ("q", "one"))
    assert found.lost == (("p", "two"),)
    assert set(found.assignment.order) == {("p", "two"), ("p", "three"), ("q", "two")}
    assert set(found.assignment.nodes.values()) == {"b"}
    assert set(found.moved) == {("p", "three"), ("q", "two")}


def test_a_node_that_was_added() -> None:
    found = replan(PIPELINES, UpwardRank(), state(A, B, C), STARTED, BEFORE)
    assert found.kept == (("p", "one"), ("p", "two"), ("q", "one"))
    assert found.lost == ()
    assert set(found.assignment.order) == {("p", "three"), ("q", "two")}
    # a is free at 20 s, b at 18 s: each goes on where it is, or on the new node; all end at 30 s.
    assert found.assignment.nodes["q", "two"] in ("b", "c")


def test_loads_and_times_follow_from_what_has_started() -> None:
    seen: list[ClusterState] = []

    class Watching:
        def place(self, pipelines: t.Any, state: ClusterState) -> Assignment:
            seen.append(state)
            return UpwardRank().place(pipelines, state)

    late = {**STARTED, ("p", "two"): Started("a", 1.0)}
    replan(PIPELINES, Watching(), state(A, B), late, BEFORE)
    assert dict(seen[0].load) == {"a": 1, "b": 1}
    # p/two should have ended at 11 s, and is expected at any moment.
    assert dict(seen[0].free_s) == {"a": 12.0, "b": 18.0}


def test_other_strategies_do_as_well() -> None:
    found = replan(PIPELINES, ShortestJobGroups(), state(B, C), STARTED, BEFORE)
    assert set(found.assignment.nodes) == {("p", "two"), ("p", "three"), ("q", "two")}
    # q is the shorter one; b has a task already.
    assert found.assignment.order[0] == ("q", "two")
    assert found.assignment.nodes["q", "two"] == "c"


def test_no_node_is_left_that_can() -> None:
    small = ClusterNode("small", 4, GIB)
    large = [Pipeline("p", (Task("t", operations=1, memory_bytes=GIB),))]
    with pytest.raises(UnplaceableError, match="p/t: small: has 1,024 MiB"):
        replan(large, UpwardRank(), state(small), {("p", "t"): Started("a", 1.0)}, BEFORE)
    done = replan(large, UpwardRank(), state(small), {("p", "t"): Started("a", 1.0, 2.0)}, BEFORE)
    assert done.assignment.order == ()


def test_what_cannot_have_happened() -> None:
    with pytest.raises(ValueError, match='"two" is said to have started, but "one", which it'):
        replan(PIPELINES, UpwardRank(), state(A), {("p", "two"): Started("a", 1.0)}, BEFORE)


@pytest.mark.parametrize("dispatch", ["pipelines", "tasks"])
@settings(max_examples=25)
@given(seed=st.integers(0, 10**6))
def test_each_task_is_kept_or_placed_on_a_node_that_is_there(
    seed: int, dispatch: t.Literal["pipelines", "tasks"], draws: t.Any
) -> None:
    chance = random.Random(seed)
    cluster, pipelines = draws.nodes(chance), draws.pipelines(chance)
    rules = Rules(dispatch)
    whole = ClusterState(cluster, draws.speeds, rules)
    strategy = UpwardRank(evaluations=20)
    before = strategy.place(pipelines, whole)
    started: dict[tuple[str, str], Started] = {}
    for key in before.order:
        sources = [
            (one.name, edge.source)
            for one in pipelines
            for edge in one.edges
            if one.name == key[0] and edge.target == key[1]
        ]
        ended = all(x in started and started[x].end_s is not None for x in sources)
        if ended and chance.random() < 0.6:
            end = 1.0 if chance.random() < 0.6 else None
            started[key] = Started(before.nodes[key], 0.0, end)
    gone = chance.choice(cluster.nodes).name
    left = Cluster(tuple(node for node in cluster.nodes if node.name != gone))
    now = ClusterState(left, draws.speeds, rules, now_s=2.0)
    found = replan(pipelines, strategy, now, started, before)
    assert sorted([*found.kept, *found.assignment.order]) == sorted(before.order)
    assert all(node != gone for node in found.assignment.nodes.values())
    for key in found.lost:
        assert started[key].end_s is None
        assert started[key].node == gone
    assert set(found.kept) == set(started) - set(found.lost)
