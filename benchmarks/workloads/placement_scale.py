"""Large workloads for placement: 1,000 nodes of four groups, and tasks of all kinds of models."""

from __future__ import annotations

import random
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from couler.cluster.model import Cluster, Speed
from couler.ir.policies import Profile, Resources
from couler.ir.workflow import Container, Step, Workflow
from couler.optimizers.base import PassContext
from couler.optimizers.passes.place import Place
from couler.optimizers.placement.problem import Edge, Pipeline, Task
from couler.optimizers.placement.speeds import Speeds
from couler.optimizers.placement.strategy import ClusterState, Rules, read_strategy
from workloads import placement_scenarios

STRATEGY = "upward-rank"


@dataclass(frozen=True)
class Scale:
    """Placing a large workload."""

    workload: str
    steps: int
    nodes: int
    seconds: float


POOLS = {"low": 300, "medium": 330, "high-cpu": 300, "high-gpu": 70}


def large_cluster() -> Cluster:
    nodes = tuple(
        placement_scenarios.node(group, number, "arm64" if number % 3 == 1 else "amd64")
        for group, count in POOLS.items()
        for number in range(1, count + 1)
    )
    return Cluster(nodes, "large")


def some_task(draws: random.Random, name: str) -> Task:
    model = draws.choice(("DT", "LR", "RF", "SVM", "DNN", "CNN"))
    seconds = 2 ** draws.uniform(2, 8)  # on a node of the group medium
    operations = seconds * placement_scenarios.BASE[model]
    return Task(name, "training", model, operations, draws.randint(1, 2_000) * 2**20)


def layered(steps: int, seed: int) -> list[Pipeline]:
    """Return one workflow: each step reads from one or two of the hundred steps before it."""
    draws = random.Random(f"layered/{seed}/{steps}")
    tasks = tuple(some_task(draws, f"s{number}") for number in range(steps))
    edges = tuple(
        Edge(f"s{source}", f"s{number}", draws.randint(1, 500) * 10**6)
        for number in range(100, steps)
        for source in sorted({draws.randint(number - 100, number - 1) for _ in range(2)})
    )
    return [Pipeline("layered", tasks, edges)]


def chains(steps: int, seed: int) -> list[Pipeline]:
    """Return pipelines of four steps each."""
    draws = random.Random(f"chains/{seed}/{steps}")
    return [
        Pipeline.chain(
            f"p{number}",
            [some_task(draws, f"s{at}") for at in range(4)],
            moved_bytes=[draws.randint(1, 500) * 10**6 for _ in range(3)],
        )
        for number in range(steps // 4)
    ]


def workflow(steps: int, seed: int) -> Workflow:
    """Return the layered workload as a workflow."""
    (pipeline,) = layered(steps, seed)
    reads: dict[str, list[str]] = {}
    for edge in pipeline.edges:
        reads.setdefault(edge.target, []).append(edge.source)
    return Workflow(
        name="layered",
        steps=tuple(
            Step(
                name=task.name,
                action=Container(image="train"),
                depends_on=tuple(reads.get(task.name, ())),
                resources=Resources(memory=str(task.memory_bytes)),
                profile=Profile(operations=task.operations, model=task.model),
            )
            for task in pipeline.tasks
        ),
    )


WORKLOADS = {
    "one workflow": (layered, Rules("tasks")),
    "pipelines, task by task": (chains, Rules("tasks")),
    "pipelines as wholes": (chains, Rules("pipelines")),
}


PASS = "a workflow, by the whole pass"

JITTERED = "the same, nodes differ slightly"


def jittered(cluster: Cluster) -> Cluster:
    """Return a cluster of which no two nodes have the same memory, as live ones do not."""
    nodes = tuple(
        replace(node, memory_bytes=node.memory_bytes - number * 4096)
        for number, node in enumerate(cluster.nodes)
    )
    return replace(cluster, nodes=nodes)


def scale(sizes: Sequence[int], seed: int) -> Iterator[Scale]:
    """Yield the CPU seconds of placing large workloads, by the strategy and by the whole pass."""
    cluster = large_cluster()
    rates = placement_scenarios.declared().speeds.rates
    strategy = read_strategy(STRATEGY)
    for name, (make, rules) in WORKLOADS.items():
        for steps in sizes:
            pipelines = make(steps, seed)
            state = ClusterState(cluster, Speeds(rates, placement_scenarios.BANDWIDTH), rules)
            begun = time.process_time()
            strategy.place(pipelines, state)
            yield Scale(name, steps, len(cluster.nodes), time.process_time() - begun)
    rated = tuple(Speed(rate, group, model) for (model, group), rate in rates.items())
    described = Cluster(cluster.nodes, cluster.name, speeds=rated)
    yield from _by_the_pass(PASS, described, sizes, seed)
    yield from _by_the_pass(JITTERED, jittered(described), sizes, seed)


def _by_the_pass(name: str, cluster: Cluster, sizes: Sequence[int], seed: int) -> Iterator[Scale]:
    for steps in sizes:
        made = workflow(steps, seed)
        begun = time.process_time()
        Place().run(made, PassContext(cluster=lambda: cluster))
        yield Scale(name, steps, len(cluster.nodes), time.process_time() - begun)
