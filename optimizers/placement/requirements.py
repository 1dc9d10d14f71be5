"""Which nodes can run a task, and why the others cannot."""

from __future__ import annotations

import typing as t
from collections.abc import Collection, Sequence
from dataclasses import dataclass

from couler.cluster.model import ClusterNode, Taint
from couler.errors import UnplaceableError
from couler.ir.policies import Toleration
from couler.ir.wording import few_text
from couler.optimizers.placement.problem import Pipeline, Task, TaskKey

MEMORY_MARGIN = 2.0
"""How many times its data a task may take of memory; the published code asks for as much."""

_MIB = 2**20


def refusal(task: Task, node: ClusterNode, margin: float = MEMORY_MARGIN) -> str | None:
    """Return why a node, be it empty, cannot run a task; None if it can."""
    if task.architecture is not None and task.architecture != node.architecture:
        return f"is {node.architecture}, not {task.architecture}"
    if not fits_memory(task, node, margin):
        has, needs = node.memory_bytes / _MIB, margin * task.memory_bytes / _MIB
        not_ = "not" if is_exact(margin) else "not more than"
        return f"has {has:,.0f} MiB of memory, {not_} the {needs:,.0f} MiB that are needed"
    if task.cpu > node.cpu and not task.assumes_cpu:
        return f"has {node.cpu:g} CPUs, not the {task.cpu:g} that are asked for"
    if task.gpus:
        if node.gpus is None:
            return "has no GPU"
        if task.gpu_type is not None and task.gpu_type != node.gpus.type:
            return f"has GPUs of type {node.gpus.type}, not {task.gpu_type}"
        if task.gpu_resource is not None and task.gpu_resource != node.gpus.resource:
            return f"has GPUs called {node.gpus.resource}, not {task.gpu_resource}"
        if task.gpus > node.gpus.count:
            return f"has {node.gpus.count} GPUs, not the {task.gpus} that are asked for"
    for key, value in task.selector.items():
        if node.labels.get(key) != value:
            return f"has no label {key}={value}"
    for taint in node.taints:
        if taint.effect != "PreferNoSchedule" and not tolerates(task.tolerations, taint):
            return f"has the taint {taint.key}={taint.value}:{taint.effect}, not tolerated"
    return None


def fits_memory(task: Task, node: ClusterNode, margin: float) -> bool:
    """Return whether a task has memory on a node, see `refusal`; what loads none fits."""
    if not task.memory_bytes:
        return True
    needs = margin * task.memory_bytes
    return node.memory_bytes >= needs if is_exact(margin) else node.memory_bytes > needs


def is_exact(margin: float) -> bool:
    """Return whether the memory of tasks is what they ask for, and not data that they load."""
    return margin == 1.0


def tolerates(tolerations: Collection[Toleration], taint: Taint) -> bool:
    """Return whether one of some tolerations covers a taint, by the rules of Kubernetes."""
    # Kubernetes documentation, "Taints and Tolerations".
    return any(
        (one.key is None or one.key == taint.key)
        and (one.effect is None or one.effect == taint.effect)
        and (one.operator == "Exists" or (one.value or "") == taint.value)
        for one in tolerations
    )


def shape_of(task: Task) -> tuple[object, ...]:
    """Return what `refusal` looks at: tasks of equal shape can run on the same nodes."""
    return (
        task.architecture,
        task.memory_bytes,
        0.0 if task.assumes_cpu else task.cpu,
        task.gpus,
        task.gpu_type,
        task.gpu_resource,
        frozenset(task.selector.items()),
        task.tolerations,
    )


@dataclass(frozen=True, slots=True)
class Unplaceable:
    """A task that no node can run."""

    pipeline: str
    task: str
    reasons: tuple[tuple[str, str], ...]
    """Each node, and why it cannot."""

    def __str__(self) -> str:
        nodes: dict[str, list[str]] = {}
        for node, reason in self.reasons:
            nodes.setdefault(reason, []).append(node)
        told = "; ".join(f"{few_text(names)}: {reason}" for reason, names in nodes.items())
        return f"{self.pipeline}/{self.task}: {told or 'there is no node'}"


def check_placeable(
    pipelines: Sequence[Pipeline],
    nodes: Sequence[ClusterNode],
    margin: float = MEMORY_MARGIN,
    *,
    without: t.Container[TaskKey] = (),
) -> None:
    """Refuse tasks that no node can run."""
    reasons: dict[tuple[object, ...], tuple[tuple[str, str], ...]] = {}
    found: list[Unplaceable] = []
    for pipeline in pipelines:
        for task in pipeline.tasks:
            if (pipeline.name, task.name) in without:
                continue
            shape = shape_of(task)
            if shape not in reasons:
                reasons[shape] = _reasons(task, nodes, margin)
            if reasons[shape] or not nodes:
                found.append(Unplaceable(pipeline.name, task.name, reasons[shape]))
    if found:
        raise UnplaceableError(found)


def _reasons(
    task: Task, nodes: Sequence[ClusterNode], margin: float
) -> tuple[tuple[str, str], ...]:
    """Return why each node cannot run a task, or nothing if one can."""
    found = []
    for node in nodes:
        reason = refusal(task, node, margin)
        if reason is None:
            return ()
        found.append((node.name, reason))
    return tuple(found)
