"""Pods as they are written, in front of the filters of Kubernetes' scheduler."""

from __future__ import annotations

import random
import typing as t
from collections.abc import Mapping

from couler.cluster.model import Cluster, ClusterNode, Gpus, Speed, Taint
from couler.errors import InvalidWorkflowError
from couler.ir.pods import PodContainer, PodSettings
from couler.ir.policies import Gpu, Placement, Profile, Resources, Toleration
from couler.ir.quantity import parse_quantity
from couler.ir.workflow import Container, Step, Workflow
from couler.optimizers.base import PassContext
from couler.optimizers.passes.place import Place

GIB = 2**30
REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"


def admits(node: ClusterNode, step: Step, settings: PodSettings) -> bool:
    """Return whether an empty machine takes the pod of a step."""
    place = step.placement or Placement()
    labels: dict[str, str] = {
        "kubernetes.io/hostname": node.name,
        "kubernetes.io/os": "linux",
        "kubernetes.io/arch": node.architecture,
        **node.labels,
    }
    selector = place.node_selector or settings.node_selector
    tolerations = place.tolerations or settings.tolerations
    asked = [step.resources, *(one.resources for one in step.sidecars)]
    given = [one for one in asked if one is not None]
    gpus = [one.gpu for one in given if one.gpu is not None]
    return (
        all(labels.get(key) == value for key, value in selector.items())
        and _matches(place.affinity or settings.affinity, labels)
        and all(_is_tolerated(taint, tolerations) for taint in node.taints)
        and sum(parse_quantity(one.cpu or "0") for one in given) <= node.cpu
        and sum(parse_quantity(one.memory or "0") for one in given) <= node.memory_bytes
        and all(node.gpus is not None and node.gpus.resource == gpu.resource for gpu in gpus)
        and sum(gpu.count for gpu in gpus) <= (0 if node.gpus is None else node.gpus.count)
    )


def _matches(affinity: Mapping[str, t.Any], labels: Mapping[str, str]) -> bool:
    required = affinity.get("nodeAffinity", {}).get(REQUIRED)
    return required is None or any(
        all(labels.get(one["key"]) in one["values"] for one in term["matchExpressions"])
        for term in required["nodeSelectorTerms"]
    )


def _is_tolerated(taint: Taint, tolerations: tuple[Toleration, ...]) -> bool:
    return any(
        one.key == taint.key
        and one.effect in (None, taint.effect)
        and (one.operator == "Exists" or (one.value or "") == taint.value)
        for one in tolerations
    )


def cluster_of(chance: random.Random) -> Cluster:
    nodes = []
    for number in range(chance.randint(1, 6)):
        group = chance.choice(["a", "b", "c"])
        gpus = None
        if chance.random() < 0.4:
            resource = chance.choice(["nvidia.com/gpu", "amd.com/gpu"])
            gpus = Gpus("", chance.randint(1, 2), resource=resource)
        taints = ()
        if chance.random() < 0.3:
            taints = (Taint(chance.choice(["nvidia.com/gpu", "spot"]), "yes"),)
        labels = {"group": group, "zone": chance.choice("xy")}
        nodes.append(
            ClusterNode(
                f"n{number}",
                chance.choice([2, 8]),
                chance.choice([4, 32]) * GIB,
                group,
                gpus=gpus,
                labels=labels,
                taints=taints,
            )
        )
    speeds = (
        (Speed(1e9), Speed(chance.choice([1e8, 1e11]), "b", "dense-network"))
        if any(node.group == "b" for node in nodes)
        else (Speed(1e9),)
    )
    return Cluster(tuple(nodes), speeds=speeds)


def step_of(chance: random.Random, number: int) -> Step:
    gpu = None
    if chance.random() < 0.2:
        gpu = Gpu(count=1, resource=chance.choice(["nvidia.com/gpu", "amd.com/gpu"]))
    sidecars = ()
    if chance.random() < 0.3:
        sidecars = (PodContainer(name="s", image="x", resources=Resources(cpu="1", memory="1Gi")),)
    placement = None
    if chance.random() < 0.3:
        placement = Placement(node_selector={"zone": chance.choice("xy")})
    model = chance.choice([None, "dense-network"])
    return Step(
        name=f"s{number}",
        action=Container(image="x"),
        resources=Resources(
            cpu=chance.choice(["1", "2", "7"]),
            memory=chance.choice(["1Gi", "4Gi", "20Gi"]),
            gpu=gpu,
        ),
        sidecars=sidecars,
        placement=placement,
        profile=Profile(operations=1e10, model=model),
    )


def test_each_pod_is_taken_by_a_machine_and_bound_ones_by_theirs() -> None:
    placed = refused = 0
    for seed in range(100):
        chance = random.Random(seed)
        cluster = cluster_of(chance)
        settings = PodSettings(
            tolerations=(Toleration(key="spot", operator="Exists"),) if seed % 2 else (),
            node_selector={"zone": "x"} if seed % 5 == 0 else {},
        )
        steps = tuple(step_of(chance, number) for number in range(chance.randint(1, 4)))
        workflow = Workflow(name="w", steps=steps, pod=settings)
        bind: t.Literal["group", "node"] = "node" if seed % 3 else "group"
        try:
            made = Place(bind=bind).run(workflow, PassContext(cluster=lambda: cluster))  # noqa: B023  # called at once
        except InvalidWorkflowError as error:
            refused += 1
            named = {one.step for one in error.diagnostics}
            for step in steps:
                # GPUs of the cluster tolerate their own taint only where one is asked for.
                if step.name in named and (step.resources and step.resources.gpu is None):
                    assert not any(admits(node, step, settings) for node in cluster.nodes)
            continue
        placed += 1
        for step in made.steps:
            takers = [node.name for node in cluster.nodes if admits(node, step, settings)]
            assert takers, (seed, step)
    assert placed > 25
    assert refused > 12
