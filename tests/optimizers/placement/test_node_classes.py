"""Which nodes are looked at as one, and that many of them that differ slightly still are."""

from __future__ import annotations

import random

import pytest

from couler.cluster.model import Cluster, ClusterNode, Gpus, Taint
from couler.ir.policies import Placement, Profile, Resources
from couler.ir.workflow import Container, Step, Workflow
from couler.optimizers.placement.compiled import node_classes
from couler.optimizers.placement.problem import Pipeline, Task
from couler.optimizers.placement.requirements import refusal
from couler.optimizers.placement.speeds import Speeds
from couler.optimizers.placement.workload import workload_of

GIB = 2**30


def node(number: int, cpu: float = 8, memory: int = 32 * GIB, **more: object) -> ClusterNode:
    labels = {"kubernetes.io/hostname": f"n{number}", "zone": "ab"[number % 2]}
    return ClusterNode(f"n{number}", cpu, memory, labels=labels, **more)  # type: ignore[arg-type]  # of a node


def classes(nodes: list[ClusterNode], *tasks: Task, margin: float = 1.0) -> list[list[int]]:
    return node_classes(nodes, [Pipeline("p", tasks)], Speeds(), margin)


def test_nodes_that_differ_by_a_few_kib_are_alike() -> None:
    nodes = [node(n, 8 - n / 1000, 32 * GIB - 4096 * n) for n in range(100)]
    assert len(classes(nodes, Task("t", cpu=2, memory_bytes=GIB))) == 1


def test_nodes_are_not_alike_if_a_task_can_run_on_one_and_not_on_another() -> None:
    nodes = [node(n, memory=32 * GIB - 4096 * n) for n in range(4)]
    large = Task("t", memory_bytes=32 * GIB - 4097)
    assert classes(nodes, large) == [[0, 1], [2, 3]]
    assert classes(nodes, large, margin=0.5) == [[0, 1, 2, 3]]
    assert classes([node(n, cpu=8 - n / 100) for n in range(3)], Task("t", cpu=7.99)) == [
        [0, 1],
        [2],
    ]


def test_only_labels_that_are_selected_count() -> None:
    nodes = [node(n) for n in range(6)]
    assert len(classes(nodes, Task("t"))) == 1
    assert classes(nodes, Task("t", selector={"zone": "a"})) == [[0, 2, 4], [1, 3, 5]]
    hostname = {"kubernetes.io/hostname": "n3"}
    assert classes(nodes, Task("t", selector=hostname)) == [[0, 1, 2, 4, 5], [3]]


@pytest.mark.parametrize("seed", range(8))
def test_nodes_of_a_class_can_run_the_same_tasks(seed: int) -> None:
    draws = random.Random(seed)
    nodes = [
        node(
            n,
            draws.choice([4, 4.01, 8]),
            draws.choice([8, 8, 64]) * GIB - draws.randint(0, 9),
            gpus=draws.choice([None, Gpus("a"), Gpus("b", 2)]),
            taints=draws.choice([(), (Taint("spot"),)]),
            pods=draws.choice([110, 29]),
        )
        for n in range(40)
    ]
    tasks = [
        Task(
            f"t{n}",
            cpu=draws.choice([0, 1, 4, 4.005, 9]),
            assumes_cpu=draws.random() < 0.2,
            memory_bytes=draws.choice([0, GIB, 8 * GIB - draws.randint(0, 9)]),
            gpus=draws.choice([0, 0, 1, 2]),
            selector=draws.choice([{}, {"zone": "a"}]),
        )
        for n in range(20)
    ]
    for inside in classes(nodes, *tasks):
        for task in tasks:
            assert len({refusal(task, nodes[n], 1.0) is None for n in inside}) == 1


def test_which_machines_can_have_a_gpu_is_found_among_few() -> None:
    gpu = Gpus("a100", 1)
    nodes = [
        *(node(n, memory=32 * GIB - 4096 * n) for n in range(40)),
        node(40, 4, 16 * GIB, gpus=gpu),
        node(41, 16, 8 * GIB, gpus=gpu),
    ]
    profile = Profile(operations=1e9, model="net")
    steps = [
        Step(
            name=f"s{gib}",
            action=Container(image="x"),
            profile=profile,
            resources=Resources(cpu=cpu, memory=f"{gib}Gi"),
            placement=Placement(node_selector={"zone": zone}),
        )
        for cpu, gib, zone in (("1", 12, "a"), ("12", 1, "b"), ("1", 13, "b"))
    ]
    found = workload_of(
        Workflow(name="w", steps=tuple(steps)), cluster=Cluster(tuple(nodes)), gpu_models=["net"]
    )
    # Only n41 has 12 processors, and none is faster with a GPU for the others.
    assert found.gpu_steps == {"s1": "nvidia.com/gpu"}
