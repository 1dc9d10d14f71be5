"""Machines and steps for tests of the pass `place`."""

from __future__ import annotations

from couler.cluster.model import Cluster, ClusterNode
from couler.ir.walk import all_steps
from couler.ir.workflow import Container, Step, Workflow
from couler.optimizers.base import PassContext
from couler.optimizers.passes.place import Place

GIB = 2**30


def machine(name: str, group: str, cpu: float = 8, gib: int = 32, **fields: object) -> ClusterNode:
    labels = {"couler.io/group": group}
    return ClusterNode(name, cpu, gib * GIB, group, labels=labels, **fields)  # type: ignore[arg-type]  # of a node


def step(name: str, *after: str, **fields: object) -> Step:
    return Step.model_validate(
        {"name": name, "action": Container(image="busybox"), "depends_on": after, **fields}
    )


def placed(
    *steps: Step, cluster: Cluster, pass_: Place | None = None
) -> tuple[dict[str, Step], PassContext]:
    context = PassContext(cluster=lambda: cluster)
    made = (pass_ or Place()).run(Workflow(name="w", steps=steps), context)
    return {one.name: one for one in all_steps(made)}, context
