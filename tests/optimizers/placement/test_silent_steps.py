"""Steps that request nothing, and how many pods a machine runs."""

from __future__ import annotations

import re
from collections import Counter

import pytest

from couler.cluster.model import Cluster, ClusterNode
from couler.ir.policies import Foreach, Profile, Resources
from couler.ir.values import Literal
from couler.ir.workflow import Container, Http, Step, Workflow
from couler.optimizers.base import PassContext
from couler.optimizers.passes.place import Place
from couler.optimizers.placement.problem import Pipeline, Task
from couler.optimizers.placement.report import Report
from couler.optimizers.placement.simulation import simulate
from couler.optimizers.placement.speeds import Speeds
from couler.optimizers.placement.strategy import Rules, read_strategy
from couler.optimizers.placement.workload import most_copies, workload_of

GIB = 2**30
RULES = Rules("tasks", "requests", window_s=0, poll_s=0, memory_margin=1.0)
LOW = ClusterNode("low", 2, 4 * GIB, "low", labels={"couler.io/group": "low"})
BIG = tuple(
    ClusterNode(f"big{n}", 64, 256 * GIB, "big", labels={"couler.io/group": "big"})
    for n in range(4)
)
CLUSTER = Cluster((LOW, *BIG))
STRATEGIES = pytest.mark.parametrize(
    "strategy", ["upward-rank{memory_margin=1.0}", "kubernetes{memory_margin=1.0}"]
)


def many(count: int, seconds: float = 600, **more: object) -> Workflow:
    fields = {
        "name": "work",
        "action": Container(image="busybox"),
        "foreach": Foreach(over={"item": Literal(value=tuple(range(count)))}),
        "profile": Profile(seconds=seconds),
        **more,
    }
    return Workflow(name="w", steps=(Step.model_validate(fields),))


def run(strategy: str, cluster: Cluster, *tasks: Task) -> Report:
    return simulate([Pipeline("p", tasks)], cluster, read_strategy(strategy), Speeds(), RULES)


def at_once(report: Report) -> Counter[str]:
    """Return how many tasks of each node run at most at a time."""
    found: Counter[str] = Counter()
    for one in report.spans:
        there = [other for other in report.spans if other.node == one.node]
        running = sum(other.start_s <= one.start_s < other.end_s for other in there)
        found[one.node] = max(found[one.node], running)
    return found


def test_a_step_that_requests_nothing_takes_a_processor() -> None:
    task = workload_of(many(1), cluster=CLUSTER).pipeline.tasks[0]
    assert (task.cpu, task.assumes_cpu, task.is_pod) == (1, True, True)
    step = Step(name="get", action=Http(url="https://example.org"))
    task = workload_of(Workflow(name="w", steps=(step,)), cluster=CLUSTER).pipeline.tasks[0]
    assert (task.cpu, task.assumes_cpu, task.is_pod) == (0, False, False)


def test_many_steps_that_request_nothing_are_not_put_on_the_smallest_machine() -> None:
    context = PassContext(cluster=lambda: CLUSTER)
    made = Place().run(many(400), context)
    told = context.step_reasons["work"]
    assert "258 tasks for 400 items, as no more have room" in told
    shares = {group: int(count) for count, group in re.findall(r"(\d+) on (low|big)", told)}
    assert shares.get("low", 0) <= 4
    assert shares["big"] >= 254
    # 400 items of 600 s take two rounds on 258 processors.
    assert "All ends after 1,200 s" in (context.reason or "")
    assert made.steps[0].resources is None  # what its pod requests is left to the user


def test_items_beyond_what_a_step_counts_as_are_told() -> None:
    huge = Cluster(tuple(ClusterNode(f"n{n}", 64, 256 * GIB) for n in range(40)))
    context = PassContext(cluster=lambda: huge)
    Place().run(many(2_000), context)
    assert "512 tasks for 2,000 items, as a step has no more here" in context.step_reasons["work"]


@STRATEGIES
def test_a_machine_runs_so_many_pods(strategy: str) -> None:
    cluster = Cluster((ClusterNode("a", 64, 64 * GIB, pods=3), ClusterNode("b", 64, 64 * GIB)))
    tasks = [Task(f"t{n}", seconds={"": 10.0}, cpu=0.1) for n in range(120)]
    report = run(strategy, cluster, *tasks)
    assert at_once(report)["a"] <= 3
    assert at_once(report)["b"] <= 110
    assert report.total_s == 20


@STRATEGIES
def test_what_is_no_pod_counts_as_none(strategy: str) -> None:
    cluster = Cluster((ClusterNode("a", 64, 64 * GIB, pods=1),))
    tasks = [Task(f"t{n}", seconds={"": 10.0}, is_pod=n == 0) for n in range(5)]
    assert run(strategy, cluster, *tasks).total_s == 10


def test_as_many_tasks_as_pods_have_room() -> None:
    cluster = Cluster(tuple(ClusterNode(f"n{n}", 64, 64 * GIB, pods=20) for n in range(4)))
    step = Step(name="a", action=Container(image="x"), resources=Resources(cpu="100m"))
    assert most_copies(step, cluster) == 80
