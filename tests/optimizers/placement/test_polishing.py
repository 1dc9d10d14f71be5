"""The end of the search of upward-rank: no other node of any one task is better."""

from __future__ import annotations

import random
import typing as t

import pytest
from hypothesis import given, settings, strategies as st

from couler.cluster.model import Cluster, ClusterNode
from couler.optimizers.placement.compiled import Compiled
from couler.optimizers.placement.first_plans import Plan, list_tasks
from couler.optimizers.placement.improving import Evaluation, Score, polish
from couler.optimizers.placement.planned_pipelines import Outcome
from couler.optimizers.placement.problem import Pipeline, Task
from couler.optimizers.placement.speeds import Speeds
from couler.optimizers.placement.strategies import upward_rank
from couler.optimizers.placement.strategies.upward_rank import UpwardRank
from couler.optimizers.placement.strategy import ClusterState, Rules

GIB = 2**30
SHARED = Rules("tasks", "requests", window_s=0, poll_s=0, memory_margin=1.0)
RULES = [SHARED, Rules("tasks", window_s=0, poll_s=0), Rules(window_s=0, poll_s=0)]


def drawn(seed: int, rules: Rules, draws: t.Any) -> tuple[Evaluation, Plan, list[int]]:
    """Return a workload, a plan with each task on some node that can run it, and its tasks."""
    chance = random.Random(seed)
    cluster, pipelines = draws.nodes(chance), draws.pipelines(chance)
    model = Compiled(pipelines, ClusterState(cluster, draws.speeds, rules), 2.0)
    plan = list_tasks(model, range(len(model.keys)))
    for task, row in enumerate(model.seconds):
        able = [n for n in range(len(model.nodes)) if row[model.class_of[n]] < float("inf")]
        plan.nodes[task] = chance.choice(able)
    if rules.dispatch == "pipelines":
        plan = Plan(plan.nodes, [float(n) for n in range(len(pipelines))])
    return Evaluation(model), plan, list(range(len(model.keys)))


def end_and_cost(one: Outcome) -> float:
    return one.end + one.cost


@pytest.mark.parametrize("rules", RULES, ids=["shared", "tasks", "pipelines"])
@settings(max_examples=8, deadline=None)
@given(seed=st.integers(0, 10**6))
def test_no_other_node_of_any_task_is_better(rules: Rules, seed: int, draws: t.Any) -> None:
    evaluation, plan, tasks = drawn(seed, rules, draws)
    model = evaluation.model
    before = plan.copy()
    found = polish(evaluation, plan, end_and_cost, visits=10**7)
    assert plan == before
    assert found == polish(evaluation, plan, end_and_cost, visits=10**7)
    value = end_and_cost(evaluation.outcome(found))
    assert value <= end_and_cost(evaluation.outcome(plan)) * (1 + 1e-9)
    for task in tasks:
        for node in range(len(model.nodes)):
            if model.seconds[task][model.class_of[node]] == float("inf"):
                continue
            there = end_and_cost(evaluation.outcome_with(found, task, node))
            assert there >= value - 1e-9 * abs(value)
            if there <= value * (1 - 1e-11):
                continue
            is_equal = abs(there - value) <= 1e-13 * abs(value)
            own = found.nodes[task]
            assert not is_equal or model.class_thrift(node) >= model.class_thrift(own)


class Counted(Evaluation):
    """An evaluation that counts how many tasks it looks at."""

    def __init__(self, model: Compiled) -> None:
        super().__init__(model)
        self.visits = 0

    def outcome(self, plan: Plan) -> Outcome:
        self.visits += sum(map(len, self.model.members))
        return super().outcome(plan)


def many(tasks: int, nodes: int) -> Counted:
    cluster = Cluster(
        tuple(
            ClusterNode(f"n{at}", 4, 8 * GIB, group=("slow", "fast")[at % 2]) for at in range(nodes)
        )
    )
    some = tuple(Task(f"t{at}", operations=1 + at % 7, cpu=1.0) for at in range(tasks))
    speeds = Speeds({("", "slow"): 1.0, ("", "fast"): 2.0})
    return Counted(Compiled([Pipeline("p", some)], ClusterState(cluster, speeds, SHARED), 1.0))


def busy(one: Outcome) -> float:
    return sum(one.starts)


@pytest.mark.parametrize(
    ("visits", "is_better"),
    [
        (10**6, True),  # each node
        (4 * 60 * 60, True),  # two of each class
        (3 * 60 * 60 - 1, False),
    ],
)
def test_what_is_looked_at_is_bounded(visits: int, is_better: bool) -> None:
    evaluation = many(60, 40)
    plan = Plan([at % 40 for at in range(60)], [0.0] * 60)
    plan.nodes[:40] = [0] * 40
    score: Score = busy
    first = score(evaluation.outcome(plan))
    evaluation.visits = 0
    found = polish(evaluation, plan, score, visits=visits)
    assert evaluation.visits <= visits + 60
    assert (score(evaluation.outcome(found)) < first) is is_better
    assert (found != plan) is is_better


def test_a_plan_ends_with_it_but_for_the_first_one(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[int] = []

    def noted(evaluation: Evaluation, plan: Plan, score: Score, *, visits: int) -> Plan:
        asked.append(visits)
        return polish(evaluation, plan, score, visits=visits)

    monkeypatch.setattr(upward_rank, "polish", noted)
    cluster = Cluster((ClusterNode("a", 4, 8 * GIB),))
    state = ClusterState(cluster, Speeds({("", ""): 1.0}), SHARED)
    pipelines = [Pipeline("p", (Task("t", operations=1),))]
    UpwardRank(evaluations=0).place(pipelines, state)
    assert not asked
    UpwardRank().place(pipelines, state)
    assert len(asked) == 1
