"""List scheduling by upward rank by hand, its search, and what a plan is taken to come to."""

from __future__ import annotations

import dataclasses
import itertools
import random
import typing as t

import pytest
from hypothesis import given, strategies as st

from couler.cluster.model import Cluster, ClusterNode, Gpus
from couler.errors import UnplaceableError
from couler.optimizers.placement.compiled import Compiled
from couler.optimizers.placement.first_plans import Plan, list_tasks
from couler.optimizers.placement.improving import Evaluation
from couler.optimizers.placement.problem import Edge, Pipeline, Task
from couler.optimizers.placement.simulation import simulate
from couler.optimizers.placement.speeds import Speeds
from couler.optimizers.placement.strategies.upward_rank import (
    UpwardRank,
    mean_seconds,
    upward_ranks,
)
from couler.optimizers.placement.strategy import ClusterState, Fixed, Rules

GIB = 2**30
SLOW = ClusterNode("slow", 4, 8 * GIB, group="slow", price_usd_per_h=1.0)
FAST = ClusterNode("fast", 4, 8 * GIB, group="fast", price_usd_per_h=10.0)
BOTH = Cluster((SLOW, FAST))
SPEEDS = Speeds({("", "slow"): 1.0, ("", "fast"): 2.0}, bandwidth_bytes_per_s=1.0)
TASKS = Rules("tasks", window_s=0, poll_s=0)
WHOLE = Rules(window_s=0, poll_s=0)

# a -> b, a -> c, b and c -> d; on slow a takes 4 s, b 8, c 2, d 4, on fast half of it.
DIAMOND = Pipeline(
    "p",
    (
        Task("a", operations=4),
        Task("b", operations=8),
        Task("c", operations=2),
        Task("d", operations=4),
    ),
    (Edge("a", "b", 1), Edge("a", "c", 2), Edge("b", "d", 3), Edge("c", "d", 4)),
)


def compiled(
    pipelines: list[Pipeline], cluster: Cluster = BOTH, rules: Rules = TASKS, **state: t.Any
) -> Compiled:
    return Compiled(pipelines, ClusterState(cluster, SPEEDS, rules, **state), 2.0)


def test_upward_ranks_by_hand() -> None:
    model = compiled([DIAMOND])
    means = mean_seconds(model)
    assert means == [3, 6, 1.5, 3]
    # d: 3; b: 6 + 3 + 3; c: 1.5 + 4 + 3; a: 3 + max(1 + 12, 2 + 8.5).
    assert upward_ranks(model, means) == [16, 12, 8.5, 3]


def test_insertion_before_what_waits_for_its_inputs() -> None:
    # x runs on slow alone for 6 s, then y on fast from 6 s on; z fits on fast before that.
    one = Pipeline.chain(
        "one", [Task("x", seconds={"slow": 6, "fast": 99}), Task("y", operations=4)]
    )
    other = Pipeline("other", (Task("z", seconds={"slow": 99, "fast": 5}),))
    model = compiled([one, other])
    plan = list_tasks(model, [0, 1, 2])
    assert plan.nodes == [0, 1, 1]
    assert plan.priority == [0, 6, 0]
    assert Evaluation(model).outcome(plan).end == 8


def test_gpus_are_kept_for_what_they_make_faster() -> None:
    gpu = dataclasses.replace(FAST, name="gpu", group="gpu", gpus=Gpus("t4"))
    cluster = Cluster((SLOW, gpu))
    speeds = Speeds({("", "slow"): 1.0, ("", "gpu"): 1.2, ("CNN", "gpu"): 20.0})
    pipelines = [
        Pipeline("forest", (Task("t", model="RF", operations=12),)),
        Pipeline("net", (Task("t", model="CNN", operations=100),)),
    ]
    state = ClusterState(cluster, speeds, TASKS)
    found = UpwardRank(evaluations=0).place(pipelines, state)
    assert found.nodes == {("net", "t"): "gpu", ("forest", "t"): "slow"}


@pytest.mark.parametrize("rules", [TASKS, WHOLE])
def test_objectives(rules: Rules) -> None:
    long = Pipeline("long", (Task("t", operations=20),))
    short = Pipeline("short", (Task("t", operations=2),))
    state = ClusterState(BOTH, SPEEDS, rules)

    def nodes(objective: t.Literal["makespan", "waiting", "cost"], count: int) -> tuple[str, str]:
        copies = [dataclasses.replace(short, name=f"short{n}") for n in range(count)]
        found = UpwardRank(objective).place([long, *copies], state)
        return found.nodes["long", "t"], found.nodes["short0", "t"]

    assert nodes("makespan", 1) == ("fast", "slow")
    assert nodes("cost", 1) == ("slow", "slow")  # a tenth of the price for half of the speed
    report = simulate(
        [long, *(dataclasses.replace(short, name=f"s{n}") for n in range(3))],
        BOTH,
        UpwardRank("waiting"),
        SPEEDS,
        rules,
    )
    # The long one has a node, the short ones follow one another on the other, which is fast: they
    # wait 0, 1 and 2 s.
    assert sum(one.waiting_s for one in report.pipelines) == 3


def test_unplaceable() -> None:
    with pytest.raises(UnplaceableError, match="p/t: slow, fast: has no GPU"):
        UpwardRank().place([Pipeline("p", (Task("t", gpus=1),))], ClusterState(BOTH, SPEEDS))


def test_choices_say_how_long_tasks_take() -> None:
    found = UpwardRank().place([DIAMOND], ClusterState(BOTH, SPEEDS, TASKS))
    told = {one.task: one for one in found.choices}
    assert [one.task for one in found.choices] == [task for _, task in found.order]
    assert set(found.nodes.values()) == {"fast"}  # 9 s, less than with c on slow
    assert told["b"].why.startswith("takes 4 s there")


def test_fixed_tasks_and_busy_nodes() -> None:
    state = ClusterState(
        BOTH,
        SPEEDS,
        TASKS,
        now_s=10.0,
        fixed={("p", "a"): Fixed("fast", 10.0), ("p", "b"): Fixed("slow", 20.0)},
        free_s={"slow": 20.0},
    )
    found = UpwardRank().place([DIAMOND], state)
    assert [task for _, task in found.order] == ["c", "d"]
    assert found.nodes["p", "c"] == "fast"
    # d can begin at 20 s: on slow with 4 s for c's output and 4 s, on fast with 3 s for b's
    # and 2 s.
    assert found.nodes["p", "d"] == "fast"
    model = Compiled([DIAMOND], state, 2.0)
    outcome = Evaluation(model).outcome(Plan([1, 0, 1, 1], [0, 1, 2, 3]))
    assert outcome.end == 25
    assert outcome.starts[2:] == [10, 20]


def best_by_trying_all(model: Compiled) -> float:
    evaluation = Evaluation(model)
    tasks = [task for inside in model.members for task in inside]
    count = len(model.members) if evaluation.is_whole else len(tasks)
    return min(
        evaluation.outcome(Plan(list(nodes), list(map(float, order)))).end
        for nodes in itertools.product(range(len(model.nodes)), repeat=len(tasks))
        for order in itertools.permutations(range(count))
    )


@pytest.mark.parametrize("rules", [TASKS, WHOLE])
@pytest.mark.parametrize("seed", range(4))
def test_small_workloads_have_the_best_plan(rules: Rules, seed: int) -> None:
    chance = random.Random(seed)
    pipelines = [
        Pipeline.chain(
            f"p{n}",
            [Task(f"t{at}", operations=chance.randint(1, 9)) for at in range(2)],
            moved_bytes=[chance.randint(0, 2)],
        )
        for n in range(2)
    ]
    model = compiled(pipelines, rules=rules)
    report = simulate(pipelines, BOTH, UpwardRank(), SPEEDS, rules)
    assert report.total_s == pytest.approx(best_by_trying_all(model))


@pytest.mark.parametrize("dispatch", ["pipelines", "tasks"])
@given(seed=st.integers(0, 10**6))
def test_what_is_planned_is_what_happens(
    seed: int, dispatch: t.Literal["pipelines", "tasks"], draws: t.Any
) -> None:
    chance = random.Random(seed)
    cluster, pipelines = draws.nodes(chance), draws.pipelines(chance)
    rules = Rules(dispatch, window_s=0)
    strategy = UpwardRank(evaluations=30)
    state = ClusterState(cluster, draws.speeds, rules)
    found = strategy.place(pipelines, state)
    model = Compiled(pipelines, state, 2.0)
    places = {node.name: number for number, node in enumerate(cluster.nodes)}
    nodes = [places[found.nodes[key]] for key in model.keys]
    if dispatch == "tasks":
        priority = [float(found.order.index(key)) for key in model.keys]
    else:
        priority = [float(found.pipelines.index(name)) for name in model.names]
    planned = Evaluation(model).outcome(Plan(nodes, priority))
    report = simulate(pipelines, cluster, strategy, draws.speeds, rules)
    assert max(one.end_s for one in report.pipelines) == pytest.approx(planned.end)
    assert sum(one.waiting_s for one in report.pipelines) == pytest.approx(planned.waiting)
    if dispatch == "tasks":
        assert [one.start_s for one in report.spans] == pytest.approx(
            sorted(planned.starts[model.keys.index((x.pipeline, x.task))] for x in report.spans)
        )


def test_labels_that_are_selected_tell_nodes_apart() -> None:
    nodes = tuple(dataclasses.replace(SLOW, name=f"n{n}", labels={"zone": str(n)}) for n in (0, 1))
    plain = compiled([DIAMOND], Cluster(nodes))
    assert plain.classes == [[0, 1]]
    picky = Pipeline("p", (Task("t", operations=1, selector={"zone": "1"}),))
    model = compiled([picky], Cluster(nodes))
    assert model.classes == [[0], [1]]
    assert model.seconds == [[float("inf"), 1.0]]
    assert UpwardRank().place([picky], ClusterState(Cluster(nodes), SPEEDS)).nodes == {
        ("p", "t"): "n1"
    }


GROUPS = tuple(
    ClusterNode(f"{group}-{n}", 4, 8 * GIB, group=group, price_usd_per_h=price)
    for group, price in (("slow", 3.6), ("fast", 36.0))
    for n in (1, 2, 3)
)


def test_on_shared_nodes_it_is_told_what_waits() -> None:
    rules = Rules("tasks", "requests", window_s=0)
    work = Pipeline("p", tuple(Task(f"t{n}", operations=4, cpu=4) for n in range(2)))
    only = Cluster((FAST,))
    found = UpwardRank().place([work], ClusterState(only, SPEEDS, rules)).choices
    assert [one.why for one in found] == [
        "takes 2 s there",
        "takes 2 s there, after 2 s of waiting for others",
    ]
