"""Plans where nodes run as many tasks as fit, by hand and against what happens."""

from __future__ import annotations

import random
import typing as t
from collections import Counter

import pytest
from hypothesis import example, given, settings, strategies as st

from couler.cluster.model import Cluster, ClusterNode, Gpus
from couler.optimizers.placement.compiled import Compiled, Hold
from couler.optimizers.placement.first_plans import Plan, list_tasks
from couler.optimizers.placement.improving import Evaluation
from couler.optimizers.placement.problem import Edge, Pipeline, Task
from couler.optimizers.placement.simulation import simulate
from couler.optimizers.placement.speeds import Speeds
from couler.optimizers.placement.strategies.kubernetes import KubernetesScheduler
from couler.optimizers.placement.strategies.upward_rank import UpwardRank
from couler.optimizers.placement.strategy import ClusterState, Fixed, Rules

GIB = 2**30
RULES = Rules("tasks", "requests", window_s=0, poll_s=0)
FAST = ClusterNode("fast", 64, 256 * GIB, group="fast", price_usd_per_h=3.6)
SLOW = tuple(
    ClusterNode(f"slow-{n}", 4, 16 * GIB, group="slow", price_usd_per_h=0.36) for n in (1, 2)
)
CLUSTER = Cluster((FAST, *SLOW))
SPEEDS = Speeds({("", "fast"): 2e9, ("", "slow"): 1e9})
UNIT = Speeds({("", ""): 1.0}, bandwidth_bytes_per_s=1.0)


def alike(count: int, cpu: float) -> Pipeline:
    return Pipeline("w", tuple(Task(f"t{n}", operations=1e11, cpu=cpu) for n in range(count)))


def compiled(tasks: list[Task], *nodes: ClusterNode, **state: t.Any) -> Compiled:
    cluster = Cluster(nodes or (ClusterNode("n", 4, 8 * GIB, gpus=Gpus("t4", 2)),))
    return Compiled([Pipeline("p", tuple(tasks))], ClusterState(cluster, UNIT, RULES, **state), 2.0)


@pytest.mark.parametrize(("count", "cpu"), [(12, 2.0), (40, 0.0)])
def test_what_fits_on_the_fast_node_is_there(count: int, cpu: float) -> None:
    report = simulate([alike(count, cpu)], CLUSTER, UpwardRank(), SPEEDS, RULES)
    # 1e11 operations at 2e9 a second, all at once; one after the other it was 200 s, and 100 s.
    assert report.total_s == 50.0
    assert Counter(span.node for span in report.spans) == {"fast": count}


def test_what_does_not_fit_goes_where_it_ends_first() -> None:
    # 40 of 2 CPUs: 32 on fast until 50 s, 4 on the others until 100 s, and 4 on fast from 50 s on.
    report = simulate([alike(40, 2.0)], CLUSTER, UpwardRank(evaluations=0), SPEEDS, RULES)
    assert report.total_s == 100.0


def test_tasks_start_in_order_if_they_fit() -> None:
    model = compiled(
        [
            Task("a", seconds={"": 10}, cpu=3),
            Task("b", seconds={"": 5}, cpu=2),
            Task("c", seconds={"": 2}, cpu=1, memory_bytes=3 * GIB),
            Task("d", seconds={"": 1}, cpu=0, memory_bytes=2 * GIB),
            Task("e", seconds={"": 1}, gpus=2),
            Task("f", seconds={"": 1}, gpus=1),
            Task("g", seconds={"": 7}),
        ],
    )
    outcome = Evaluation(model).outcome(Plan([0] * 7, [float(n) for n in range(7)]))
    # b waits for CPUs of a; c goes past b; d, of 4 GiB with the margin, waits for the 6 GiB of c;
    # f waits for the GPUs of e, and g asks for nothing.
    assert outcome.starts == [0, 10, 0, 2, 0, 1, 0]
    assert outcome.end == 15


def test_cost_is_that_of_the_time_in_which_a_node_runs_anything() -> None:
    node = ClusterNode("n", 2, 8 * GIB, price_usd_per_h=3600.0)
    tasks = [
        Task("a", seconds={"": 4}, cpu=1),
        Task("b", seconds={"": 6}, cpu=1),
        Task("c", seconds={"": 5}, cpu=2),
    ]
    outcome = Evaluation(compiled(tasks, node)).outcome(Plan([0, 0, 0], [0, 1, 2]))
    assert (outcome.end, outcome.cost) == (11, 11)
    assert UpwardRank("cost").place(
        [alike(4, 1.0)], ClusterState(CLUSTER, SPEEDS, RULES)
    ).nodes == {("w", f"t{n}"): "slow-1" for n in range(4)}


@pytest.mark.parametrize("shapes", [2, 100])
def test_many_tasks_are_packed(shapes: int) -> None:
    nodes = [ClusterNode(f"n{n}", 4, 8 * GIB) for n in range(3)]
    tasks = [
        Task(f"t{n}", seconds={"": 1.0 + n % 7}, cpu=0.5 + (n % shapes) / 100) for n in range(600)
    ]
    model = compiled(tasks, *nodes)
    outcome = Evaluation(model).outcome(list_tasks(model, range(600)))
    work = sum(task.cpu * task.seconds[""] for task in tasks)
    # No machine is without work for long: list scheduling is within twice the bound.
    assert outcome.end <= 1.5 * work / 12


def test_what_is_held_at_first() -> None:
    tasks = [Task("a", cpu=1), Task("b", cpu=2), Task("c", seconds={"": 1}, cpu=2)]
    nodes = [ClusterNode(f"n{n}", 4, 8 * GIB) for n in range(4)]
    model = compiled(
        tasks,
        *nodes,
        now_s=10.0,
        fixed={("p", "a"): Fixed("n0", 9.0), ("p", "b"): Fixed("n0", 12.0)},
        free_s={"n0": 15.0, "n1": 20.0, "n2": 30.0},
        requested={"n0": (3.0, 0.0, 0, 2), "n1": (4.0, 0.0, 0, 1)},
    )
    # On n0 b runs and something of 1 CPU, n1 is full; of n2 nothing is known but that it is not
    # free.
    assert model.holds == [
        Hold(12.0, 0, (2.0, 0.0, 0.0, 1.0)),
        Hold(15.0, 0, (1.0, 0.0, 0.0, 1.0)),
        Hold(20.0, 1, (4.0, 0.0, 0.0, 1.0)),
        Hold(30.0, 2, (4.0, 8.0 * GIB, 0.0, 110.0)),
    ]
    starts = [
        Evaluation(model).outcome(Plan([0, 0, node], [0.0] * 3)).starts[2] for node in range(4)
    ]
    assert starts == [12, 20, 30, 10]
    assert list_tasks(model, [2]).nodes[2] == 3


def test_where_pipelines_start_as_wholes_nodes_are_not_shared_in_plans() -> None:
    state = ClusterState(CLUSTER, SPEEDS, Rules("pipelines", "requests"))
    assert not Compiled([alike(2, 1.0)], state, 2.0).is_shared


def drawn(chance: random.Random) -> tuple[Cluster, Pipeline, Speeds]:
    """Return a small cluster and many small tasks, some of which read from others."""
    nodes = tuple(
        ClusterNode(
            f"n{n}",
            chance.choice([2, 4, 16]),
            chance.choice([4, 16]) * GIB,
            group=chance.choice("ab"),
        )
        for n in range(chance.randint(1, 5))
    )
    count = chance.randint(5, 40)
    tasks = tuple(
        Task(
            f"t{n}",
            operations=chance.randint(0, 20),
            cpu=chance.choice([0, 0.5, 1, 2]),
            memory_bytes=chance.choice([0, GIB // 4, GIB]),
        )
        for n in range(count)
    )
    edges = tuple(
        Edge(f"t{chance.randrange(n)}", f"t{n}", chance.choice([0, 2]))
        for n in range(1, count)
        if chance.random() < 0.4
    )
    rates = {("", "a"): 1.0, ("", "b"): chance.choice([0.5, 2.0, 3.0])}
    return Cluster(nodes), Pipeline("p", tasks, edges), Speeds(rates, bandwidth_bytes_per_s=1.0)


@settings(max_examples=15, deadline=None)
@given(seed=st.integers(0, 10**6))
@example(seed=62)  # in the order of starts alone, tasks of no seconds let others go first
def test_nothing_ends_later_than_where_kubernetes_chooses(seed: int) -> None:
    cluster, pipeline, speeds = drawn(random.Random(seed))
    ours, usual = (
        simulate([pipeline], cluster, strategy, speeds, RULES).total_s
        for strategy in (UpwardRank(evaluations=20), KubernetesScheduler())
    )
    assert ours <= usual + 1e-9


@settings(max_examples=12, deadline=None)
@given(seed=st.integers(0, 10**6))
def test_what_is_planned_is_what_happens(seed: int) -> None:
    cluster, pipeline, speeds = drawn(random.Random(seed))
    strategy = UpwardRank(evaluations=20)
    state = ClusterState(cluster, speeds, RULES)
    found = strategy.place([pipeline], state)
    model = Compiled([pipeline], state, 2.0)
    places = {node.name: number for number, node in enumerate(cluster.nodes)}
    plan = Plan(
        [places[found.nodes[key]] for key in model.keys],
        [float(found.order.index(key)) for key in model.keys],
    )
    planned = Evaluation(model).outcome(plan)
    report = simulate([pipeline], cluster, strategy, speeds, RULES)
    starts = {(span.pipeline, span.task): span.start_s for span in report.spans}
    assert [starts[key] for key in model.keys] == pytest.approx(planned.starts)
    assert report.total_s == pytest.approx(planned.end)
