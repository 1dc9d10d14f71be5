"""The task of a step: what its pod needs of a machine, how long it takes there, and its GPU."""

from __future__ import annotations

import math
from collections.abc import Collection, Sequence
from dataclasses import replace

from couler.cluster.model import Cluster, ClusterNode
from couler.ir.paths import HANDLER_PREFIX
from couler.ir.policies import Profile, Toleration
from couler.ir.walk import all_steps
from couler.ir.workflow import Container, Script, Workflow
from couler.optimizers.durations import known_seconds
from couler.optimizers.placement.flattening import FlatStep
from couler.optimizers.placement.learning import Learned, place_of
from couler.optimizers.placement.parallelism import USUAL_OPERATIONS_PER_S
from couler.optimizers.placement.pod_needs import (
    ARCHITECTURE_LABEL,
    effective_placement,
    needs_of,
    runs_in_a_pod,
)
from couler.optimizers.placement.problem import Task
from couler.optimizers.placement.requirements import refusal
from couler.optimizers.placement.scaling import speeds_of
from couler.optimizers.silent_steps import SILENT_CPU

__all__ = ["TaskMaker"]


class TaskMaker:
    """Makes the tasks of the steps of one workflow."""

    def __init__(
        self,
        workflow: Workflow,
        cluster: Cluster,
        usual_s: float,
        gpu_models: Collection[str],
        tolerate: Collection[str],
        learned: Learned | None,
    ) -> None:
        self._settings = workflow.pod
        self._speeds = speeds_of(cluster, learned)
        self._learned = {model for model, _ in learned or ()}
        self._stated = {speed.model for speed in cluster.speeds}
        self._usual_s = usual_s
        self._gpu_models = frozenset(gpu_models)
        self._tolerate = tuple(tolerate)
        gpus = (node.gpus.resource for node in cluster.nodes if node.gpus is not None)
        self.gpu_keys = tuple(dict.fromkeys(gpus))
        self._named = {place for _, place in self._speeds.rates}
        placements = [effective_placement(step, workflow.pod) for step in all_steps(workflow)]
        selected = {pair for one in placements for pair in one.node_selector.items()}
        self._nodes = _unlike(cluster, self._named, selected)
        self.gpu_steps: dict[str, str] = {}
        self.unlearned: dict[str, tuple[str, ...]] = {}

    def task(self, one: FlatStep) -> Task:
        """Return the task of one item of a step, by its path."""
        step = one.step
        profile = step.profile or Profile()
        seconds = known_seconds(step)
        operations = profile.operations or 0.0
        if seconds is None and profile.operations is not None:
            seconds = profile.operations / USUAL_OPERATIONS_PER_S
        if one.path.startswith(HANDLER_PREFIX):
            operations, seconds = 0.0, 0.0
        task = Task(
            one.path,
            kind=profile.task or "other",
            model=profile.model or "",
            seconds={"": self._seconds(seconds)},
        )
        if not runs_in_a_pod(step):
            task = replace(task, tolerations=(Toleration(operator="Exists"),))
            return self._with_operations(replace(task, is_pod=False), operations, one.path)
        needs = needs_of(step, self._settings)
        placement = effective_placement(step, self._settings)
        selector = dict(placement.node_selector)
        task = replace(
            task,
            cpu=needs.cpu or SILENT_CPU,
            assumes_cpu=not needs.cpu,
            memory_bytes=max(needs.memory_bytes, profile.memory_bytes or 0),
            gpus=needs.gpus,
            gpu_type=needs.gpu_type,
            gpu_resource=needs.gpu_resource,
            architecture=selector.pop(ARCHITECTURE_LABEL, None),
            selector=selector,
            tolerations=(*placement.tolerations, *map(_tolerated, self._tolerate)),
        )
        if needs.gpus:
            return self._with_operations(self._with_gpu_taints(task), operations, one.path)
        may_have_one = isinstance(step.action, Container | Script)
        if profile.model in self._gpu_models and may_have_one:
            others = [self._with_one_gpu(task, resource) for resource in self.gpu_keys]
            return self._with_gpu(self._with_operations(task, operations, one.path, others))
        return self._with_operations(task, operations, one.path)

    def _with_operations(
        self, task: Task, operations: float, path: str, others: Sequence[Task] = ()
    ) -> Task:
        """A task that takes as long as its operations do, if the speeds for that are known."""
        if not operations:
            return task
        if "" not in self._stated and task.model not in self._stated:
            if task.model not in self._learned:
                return task
            missing = self._unknown((task, *others))
            if missing:
                self.unlearned[path] = missing
                return task
        return replace(task, operations=operations, seconds={})

    def _unknown(self, tasks: Sequence[Task]) -> tuple[str, ...]:
        """Return the groups that can run one of some tasks, and of whose speed nothing is known."""
        found = (
            place_of(node, self._named)
            for node in self._nodes
            if self._speeds.rate(tasks[0].model, node) is None
            if any(refusal(task, node, 1.0) is None for task in tasks)
        )
        return tuple(dict.fromkeys(found))

    def _seconds(self, known: float | None) -> float:
        return self._usual_s if known is None else known

    def _with_gpu_taints(self, task: Task) -> Task:
        return replace(task, tolerations=(*task.tolerations, *map(_tolerated, self.gpu_keys)))

    def _with_one_gpu(self, task: Task, resource: str) -> Task:
        return self._with_gpu_taints(replace(task, gpus=1, gpu_resource=resource))

    def _with_gpu(self, task: Task) -> Task:
        """Return a task with a GPU if one makes it faster than all machines without."""
        best, best_s = task, self._least_s(task)
        for resource in self.gpu_keys:
            with_gpu = self._with_one_gpu(task, resource)
            seconds = self._least_s(with_gpu)
            if seconds < best_s:
                best, best_s = with_gpu, seconds
        if best is not task:
            self.gpu_steps[task.name] = str(best.gpu_resource)
        return best

    def _least_s(self, task: Task) -> float:
        without = not task.gpus
        return min(
            (
                self._speeds.seconds(task, node)
                for node in self._nodes
                if (node.gpus is None) is without and refusal(task, node, 1.0) is None
                if not task.operations or self._speeds.rate(task.model, node) is not None
            ),
            default=math.inf,
        )


def _unlike(
    cluster: Cluster, named: Collection[str], selected: Collection[tuple[str, str]]
) -> tuple[ClusterNode, ...]:
    """Return nodes for all: for each other one there is one as fast that can run what that can."""
    alike: dict[object, list[ClusterNode]] = {}
    for node in cluster.nodes:
        name = node.name if node.name in named else ""
        labels = frozenset(pair for pair in node.labels.items() if pair in selected)
        key = name, node.group, node.architecture, node.gpus, node.taints, labels
        alike.setdefault(key, []).append(node)
    found: list[ClusterNode] = []
    for some in alike.values():
        most = 0
        for node in sorted(some, key=lambda one: (-one.cpu, -one.memory_bytes)):
            if node.memory_bytes > most:
                most = node.memory_bytes
                found.append(node)
    return tuple(found)


def _tolerated(key: str) -> Toleration:
    return Toleration(key=key, operator="Exists")
