"""Runs worked out by hand, and what holds of all runs."""

from __future__ import annotations

import dataclasses
import itertools
import random
import typing as t
from collections.abc import Callable, Sequence

import pytest
from hypothesis import given as examples, settings, strategies as st

from couler.cluster.model import Cluster, ClusterNode
from couler.errors import PlacementError
from couler.optimizers.placement.problem import Assignment, Pipeline, Task
from couler.optimizers.placement.report import Report
from couler.optimizers.placement.simulation import simulate
from couler.optimizers.placement.speeds import Speeds
from couler.optimizers.placement.strategies.kubernetes import KubernetesScheduler
from couler.optimizers.placement.strategy import (
    ClusterState,
    PlacementStrategy,
    Rules,
    read_strategy,
)

GIB = 2**30
SPEEDS = Speeds(bandwidth_bytes_per_s=50.0)
AT_ONCE = Rules("tasks", window_s=0, poll_s=0)

Make = Callable[[dict[str, str]], PlacementStrategy]


def task(name: str, seconds: float, **more: t.Any) -> Task:
    return Task(name, seconds={"": seconds}, **more)


def times(report: Report) -> dict[str, tuple[float, float]]:
    return {f"{one.pipeline}/{one.task}": (one.start_s, one.end_s) for one in report.spans}


THREE = [
    Pipeline.chain("p1", [task("prepare", 10), task("train", 22)]),
    Pipeline("p2", (task("prepare", 4),)),
    Pipeline("p3", (task("prepare", 6),)),
]
NODES = {"p1/prepare": "a", "p1/train": "b", "p2/prepare": "b", "p3/prepare": "a"}


def test_pipelines_as_wholes(two_nodes: Cluster, given: Make) -> None:
    report = simulate(THREE, two_nodes, given(NODES), SPEEDS)
    assert times(report) == {
        # The window closes at 15 s, and p1 has both nodes.
        "p1/prepare": (15, 25),
        "p1/train": (25, 47),
        # a is free at 25 s, which is a poll; p3 goes past p2, whose node is not free.
        "p3/prepare": (25, 31),
        # b is free at 47 s, which is found out at 50 s.
        "p2/prepare": (50, 54),
    }
    assert report.total_s == 39
    assert [one.waiting_s for one in report.pipelines] == [15, 50, 25]
    assert report.busy_s == {"a": 16, "b": 26}


def test_without_window_and_polls(two_nodes: Cluster, given: Make) -> None:
    report = simulate(THREE, two_nodes, given(NODES), SPEEDS, Rules(window_s=0, poll_s=0))
    assert times(report)["p2/prepare"] == (32, 36)
    assert [one.waiting_s for one in report.pipelines] == [0, 32, 10]


def test_waiting_of_a_pipeline_that_was_interrupted(two_nodes: Cluster, given: Make) -> None:
    pipelines = [
        Pipeline.chain("p", [task("one", 3), task("two", 5)]),
        Pipeline("q", (task("long", 10),)),
    ]
    nodes = {"q/long": "b", "p/one": "a", "p/two": "b"}
    report = simulate(pipelines, two_nodes, given(nodes), SPEEDS, AT_ONCE)
    assert times(report)["p/two"] == (10, 15)
    assert [one.waiting_s for one in report.pipelines] == [7, 0]


def test_each_window_begins_with_the_first_to_arrive(two_nodes: Cluster, given: Make) -> None:
    pipelines = [
        Pipeline(f"p{at}", (task("t", 1),), arrival_s=at) for at in (0.0, 10.0, 15.0, 20.0, 40.0)
    ]
    nodes = {f"{one.name}/t": "a" for one in pipelines}
    report = simulate(pipelines, two_nodes, given(nodes), SPEEDS, Rules(poll_s=0))
    # What arrives as a window closes belongs to it.
    assert [one.start_s for one in report.pipelines] == [15, 16, 17, 35, 55]


@pytest.mark.parametrize("dispatch", ["pipelines", "tasks"])
def test_as_many_tasks_as_fit(
    dispatch: t.Literal["pipelines", "tasks"], two_nodes: Cluster, given: Make
) -> None:
    rules = Rules(dispatch, "requests", window_s=0, poll_s=0)
    pipelines = [Pipeline(f"p{n}", (task("t", 10, cpu=2, memory_bytes=GIB),)) for n in range(3)]
    nodes = {f"p{n}/t": "a" for n in range(3)}
    report = simulate(pipelines, two_nodes, given(nodes), SPEEDS, rules)
    assert [one.start_s for one in report.pipelines] == [0, 0, 10]
    assert report.busy_s == {"a": 20}


def test_contended_nodes(two_nodes: Cluster, given: Make) -> None:
    rules = Rules("tasks", "contended", window_s=0, poll_s=0)
    pipelines = [Pipeline("p", (task("t", 10),)), Pipeline("q", (task("t", 4),), arrival_s=2)]
    report = simulate(pipelines, two_nodes, given({"p/t": "a", "q/t": "a"}), SPEEDS, rules)
    # p is alone for 2 s, has half of the node until q's 4 s are done at 10 s, and 4 s are left.
    assert times(report) == {"p/t": (0, 14), "q/t": (2, 10)}


def test_kubernetes_starts_pods_where_there_is_room(two_nodes: Cluster) -> None:
    rules = Rules("tasks", "contended", window_s=0, poll_s=0)
    pipelines = [Pipeline(f"p{n}", (task("t", 6, cpu=3),)) for n in range(3)]
    report = simulate(pipelines, two_nodes, KubernetesScheduler(), SPEEDS, rules)
    assert [one.start_s for one in report.pipelines] == [0, 0, 6]
    assert {one.node for one in report.spans} == {"a", "b"}


def test_what_a_strategy_leaves_out_is_told(two_nodes: Cluster, given: Make) -> None:
    with pytest.raises(PlacementError, match=r"left tasks out:\n  p1/train\n  p3/prepare"):
        simulate(THREE, two_nodes, given({"p1/prepare": "a", "p2/prepare": "a"}), SPEEDS)


def test_what_never_fits_is_told(two_nodes: Cluster, given: Make) -> None:
    rules = Rules("tasks", "requests", window_s=0)
    with pytest.raises(PlacementError, match=r"never found room on their nodes:\n  p/t"):
        simulate(
            [Pipeline("p", (task("t", 1, memory_bytes=7 * GIB),))],
            two_nodes,
            given({"p/t": "a"}),
            SPEEDS,
            rules,
        )


def test_nothing_to_do(two_nodes: Cluster, given: Make) -> None:
    report = simulate([], two_nodes, given({}), SPEEDS)
    assert report.total_s == 0
    empty = simulate([Pipeline("p", (), arrival_s=3)], two_nodes, given({}), SPEEDS)
    assert empty.pipelines[0].end_s == 3


@dataclasses.dataclass(frozen=True)
class Watched:
    """Keeps what a strategy was asked."""

    inner: PlacementStrategy
    states: list[ClusterState] = dataclasses.field(default_factory=list, compare=False)
    asked: list[list[str]] = dataclasses.field(default_factory=list, compare=False)
    replans: bool = False

    def place(self, pipelines: Sequence[Pipeline], state: ClusterState) -> Assignment:
        self.states.append(state)
        self.asked.append([one.name for one in pipelines])
        return self.inner.place(pipelines, state)


LATER = [
    Pipeline.chain("p", [task("one", 30), task("two", 10)]),
    Pipeline("q", (task("one", 30),)),
    Pipeline("r", (task("one", 30),), arrival_s=20),
]
LATER_NODES = {"p/one": "a", "p/two": "b", "q/one": "a", "r/one": "b"}


def test_a_strategy_that_replans_is_asked_for_what_waits(two_nodes: Cluster, given: Make) -> None:
    watched = Watched(given(LATER_NODES), replans=True)
    simulate(LATER, two_nodes, watched, SPEEDS)
    assert watched.asked == [["p", "q"], ["q", "r"]]
    assert dict(watched.states[1].load) == {"a": 1, "b": 1}
    alone = Watched(given(LATER_NODES), replans=True)
    simulate(LATER, two_nodes, alone, SPEEDS, Rules("tasks"))
    assert alone.asked == [["p", "q"], ["p", "q", "r"]]
    state = alone.states[1]
    assert {key: (one.node, one.end_s) for key, one in state.fixed.items()} == {
        ("p", "one"): ("a", 45)
    }
    assert dict(state.free_s) == {"a": 45}


STRATEGIES = (
    "sjf-groups",
    "sjf-groups{variant=published-code}",
    "kubernetes",
    "upward-rank{evaluations=40}",
)


@pytest.mark.parametrize("name", STRATEGIES)
@pytest.mark.parametrize("dispatch", ["pipelines", "tasks"])
@settings(max_examples=20)
@examples(seed=st.integers(0, 10**6))
def test_what_holds_of_all_runs(
    seed: int, dispatch: t.Literal["pipelines", "tasks"], name: str, draws: t.Any
) -> None:
    chance = random.Random(seed)
    cluster, pipelines = draws.nodes(chance), draws.pipelines(chance, arrivals=True)
    rules = Rules(dispatch)
    if name == "kubernetes":
        rules = Rules("tasks", chance.choice(["requests", "contended"]), window_s=0, poll_s=0)
    report = simulate(pipelines, cluster, read_strategy(name), draws.speeds, rules)
    spans = {(one.pipeline, one.task): one for one in report.spans}
    assert len(spans) == len(report.spans) == sum(len(one.tasks) for one in pipelines)
    assert len(report.choices) == len(spans)
    for pipeline, told in zip(pipelines, report.pipelines, strict=True):
        for edge in pipeline.edges:
            assert spans[pipeline.name, edge.source].end_s <= (
                spans[pipeline.name, edge.target].start_s + 1e-9
            )
        assert told.start_s >= pipeline.arrival_s
        assert told.waiting_s >= 0
    if rules.sharing != "exclusive":
        return
    for node in cluster.nodes:
        here = sorted((x.start_s, x.end_s) for x in report.spans if x.node == node.name)
        for (_, end), (start, _) in itertools.pairwise(here):
            assert end <= start + 1e-9
    if dispatch == "tasks":
        return
    # A pipeline has each of its nodes from its start to the end of its last task there.
    for node in cluster.nodes:
        held = sorted(
            (told.start_s, max(ends))
            for told in report.pipelines
            if (
                ends := [
                    x.end_s for x in report.spans if (x.pipeline, x.node) == (told.name, node.name)
                ]
            )
        )
        for (_, end), (start, _) in itertools.pairwise(held):
            assert end <= start + 1e-9


def test_a_large_node_and_a_small_one() -> None:
    cluster = Cluster((ClusterNode("small", 1, GIB), ClusterNode("large", 8, 64 * GIB)))
    pipelines = [Pipeline("p", (task("t", 1, memory_bytes=GIB),))]
    for name in STRATEGIES:
        report = simulate(pipelines, cluster, read_strategy(name), SPEEDS)
        assert report.spans[0].node == "large"


@dataclasses.dataclass
class Asked:
    """Places all on one node, and keeps what it was told of the time when that is free."""

    free_s: list[dict[str, float]] = dataclasses.field(default_factory=list)

    def place(self, pipelines: Sequence[Pipeline], state: ClusterState) -> Assignment:
        self.free_s.append(dict(state.free_s))
        keys = [(one.name, task.name) for one in pipelines for task in one.tasks]
        return Assignment(dict.fromkeys(keys, "a"), tuple(keys))


def test_a_shared_node_is_free_when_all_that_runs_has_ended() -> None:
    cluster = Cluster((ClusterNode("a", 8, 16 * GIB),))
    first = Pipeline("p", tuple(Task(name, seconds={"": s}) for name, s in (("x", 100), ("y", 10))))
    later = [Pipeline(f"q{at}", (), arrival_s=float(at)) for at in (5, 20)]
    strategy = Asked()
    rules = Rules("tasks", "requests", window_s=0, poll_s=0)
    simulate([first, *later], cluster, strategy, Speeds(), rules)
    assert strategy.free_s == [{}, {"a": 100.0}, {"a": 100.0}]
