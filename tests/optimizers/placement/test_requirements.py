"""Which nodes can run a task, by each of its requirements."""

from __future__ import annotations

import typing as t

import pytest

from couler.cluster.model import ClusterNode, Gpus, Taint
from couler.errors import UnplaceableError
from couler.ir.policies import Toleration
from couler.optimizers.placement.problem import Pipeline, Task
from couler.optimizers.placement.requirements import (
    check_placeable,
    refusal,
    tolerates as is_tolerated,
)

GIB = 2**30
NODE = ClusterNode(
    "n",
    cpu=4,
    memory_bytes=8 * GIB,
    gpus=Gpus("t4", 2),
    labels={"zone": "a"},
    taints=(Taint("gpu", "yes"), Taint("old", effect="PreferNoSchedule")),
)
GPU = (Toleration(key="gpu", operator="Exists"),)


@pytest.mark.parametrize(
    ("asked", "reason"),
    [
        ({}, None),
        ({"cpu": 4.0, "gpus": 2, "gpu_type": "t4", "selector": {"zone": "a"}}, None),
        ({"architecture": "arm64"}, "is amd64, not arm64"),
        ({"memory_bytes": 4 * GIB - 1}, None),
        (
            {"memory_bytes": 4 * GIB},
            "has 8,192 MiB of memory, not more than the 8,192 MiB that are needed",
        ),
        ({"cpu": 4.5}, "has 4 CPUs, not the 4.5 that are asked for"),
        ({"gpus": 3}, "has 2 GPUs, not the 3 that are asked for"),
        ({"gpus": 1, "gpu_type": "a100"}, "has GPUs of type t4, not a100"),
        ({"selector": {"zone": "b"}}, "has no label zone=b"),
        ({"tolerations": ()}, "has the taint gpu=yes:NoSchedule, not tolerated"),
    ],
)
def test_refusal(asked: dict[str, t.Any], reason: str | None) -> None:
    task = Task("t", **{"tolerations": GPU, **asked})
    assert refusal(task, NODE) == reason


def test_no_gpu() -> None:
    assert refusal(Task("t", gpus=1), ClusterNode("n", 4, GIB)) == "has no GPU"


@pytest.mark.parametrize(
    ("toleration", "expected"),
    [
        (Toleration(key="gpu", value="yes"), True),
        (Toleration(key="gpu", value="no"), False),
        (Toleration(key="gpu"), False),
        (Toleration(key="gpu", operator="Exists"), True),
        (Toleration(operator="Exists"), True),
        (Toleration(key="cpu", operator="Exists"), False),
        (Toleration(key="gpu", operator="Exists", effect="NoExecute"), False),
        (Toleration(key="gpu", operator="Exists", effect="NoSchedule"), True),
    ],
)
def test_tolerations(toleration: Toleration, expected: bool) -> None:
    assert is_tolerated([toleration], Taint("gpu", "yes")) is expected


def test_all_unplaceable_tasks_are_told_with_the_reason_of_each_node() -> None:
    nodes = [NODE, *(ClusterNode(f"m{number}", 2, GIB) for number in range(5))]
    pipelines = [
        Pipeline("p", (Task("fits"), Task("large", memory_bytes=9 * GIB), Task("wide", cpu=3))),
        Pipeline("q", (Task("far", selector={"zone": "b"}),)),
    ]
    with pytest.raises(UnplaceableError) as caught:
        check_placeable(pipelines, nodes)
    assert [(one.pipeline, one.task) for one in caught.value.tasks] == [
        ("p", "large"),
        ("p", "wide"),
        ("q", "far"),
    ]
    assert all(len(one.reasons) == 6 for one in caught.value.tasks)
    assert caught.value.problems[1] == (
        "p/wide: n: has the taint gpu=yes:NoSchedule, not tolerated; "
        "m0, m1, m2 and 2 more: has 2 CPUs, not the 3 that are asked for"
    )
    check_placeable(pipelines[1:], nodes, without={("q", "far")})


def test_a_cluster_without_nodes() -> None:
    with pytest.raises(UnplaceableError, match="p/t: there is no node"):
        check_placeable([Pipeline("p", (Task("t"),))], [])
