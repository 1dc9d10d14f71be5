"""Pipelines, clusters and strategies for tests of placement."""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import pytest

from couler.cluster.model import Cluster, ClusterNode, Gpus
from couler.optimizers.placement.problem import Assignment, Edge, Pipeline, Task
from couler.optimizers.placement.speeds import Speeds
from couler.optimizers.placement.strategy import ClusterState

GIB = 2**30


@dataclass(frozen=True)
class Given:
    """Places tasks as it is told: by pipeline and task, in this order."""

    nodes: Mapping[str, str]

    def place(self, pipelines: Sequence[Pipeline], state: ClusterState) -> Assignment:
        there = {(one.name, task.name) for one in pipelines for task in one.tasks}
        found = {
            key: node
            for name, node in self.nodes.items()
            if (key := (name.split("/")[0], name.split("/")[1])) in there
        }
        return Assignment(found, tuple(found))


@dataclass(frozen=True)
class Draws:
    """Workloads drawn at random, by a number."""

    def nodes(self, draws: random.Random) -> Cluster:
        groups = ["low", "medium", "high-cpu", "high-gpu"]
        picked = [*groups, *(draws.choice(groups) for _ in range(draws.randint(0, 3)))]
        return Cluster(
            tuple(
                ClusterNode(
                    f"n{number}",
                    cpu=8,
                    memory_bytes=16 * GIB,
                    group=group,
                    gpus=Gpus("t4") if group == "high-gpu" else None,
                    price_usd_per_h=draws.choice([0.1, 0.5, None]),
                )
                for number, group in enumerate(picked)
            )
        )

    def pipelines(self, draws: random.Random, *, arrivals: bool = False) -> list[Pipeline]:
        return [self._pipeline(draws, f"p{n}", arrivals) for n in range(draws.randint(1, 6))]

    def _pipeline(self, draws: random.Random, name: str, arrivals: bool) -> Pipeline:
        tasks = tuple(
            Task(
                f"t{number}",
                draws.choice(["preprocessing", "training", "evaluation", "other"]),
                draws.choice(["LR", "RF", "CNN", ""]),
                operations=float(draws.randint(0, 100)),
                memory_bytes=draws.choice([0, GIB, 4 * GIB]),
                cpu=draws.choice([0, 1, 4]),
            )
            for number in range(draws.randint(1, 5))
        )
        edges = tuple(
            Edge(f"t{source}", f"t{target}", draws.choice([0, 50]))
            for target in range(len(tasks))
            for source in range(target)
            if draws.random() < 0.5
        )
        shuffled = draws.sample(tasks, len(tasks))
        return Pipeline(name, tuple(shuffled), edges, draws.randint(0, 60) if arrivals else 0.0)

    speeds = Speeds(
        {("", "low"): 1.0, ("", "medium"): 2.0, ("", ""): 4.0, ("CNN", "high-gpu"): 20.0},
        bandwidth_bytes_per_s=10.0,
    )


@pytest.fixture(scope="session")
def draws() -> Draws:
    return Draws()


@pytest.fixture(scope="session")
def given() -> Callable[[Mapping[str, str]], Given]:
    return Given


@pytest.fixture(scope="session")
def two_nodes() -> Cluster:
    return Cluster((ClusterNode("a", 4, 8 * GIB), ClusterNode("b", 4, 8 * GIB)))
