"""What the default scheduler of Kubernetes would choose."""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass

from couler.cluster.model import ClusterNode
from couler.optimizers.placement.problem import (
    Assignment,
    Choice,
    Pipeline,
    Task,
    TaskKey,
    topological_order,
)
from couler.optimizers.placement.requirements import (
    MEMORY_MARGIN,
    check_placeable,
    refusal,
    tolerates,
)
from couler.optimizers.placement.strategy import ClusterState

_DEFAULT_CPU = 0.1
_DEFAULT_MEMORY = 200 * 2**20
"""What a container that requests nothing counts for when nodes are scored."""

_TAINTS_WEIGHT = 3
"""Of the default profile; `NodeResourcesFit` and `NodeResourcesBalancedAllocation` weigh 1."""


@dataclass(frozen=True)
class KubernetesScheduler:
    """Filters and scores of the default profile of kube-scheduler [1]_, one pod after the other.

    Nodes are left out that lack free processors, memory or GPUs for what a pod requests, that run
    as many pods as they may, whose labels or architecture a pod does not select, or whose taints it
    does not tolerate. The others are scored from 0 to 100:

    - `NodeResourcesFit`, strategy LeastAllocated: the mean of the free shares of processors and
      memory with the pod on the node; a pod that requests nothing counts as 0.1 processors and
      200 MiB.
    - `NodeResourcesBalancedAllocation`: 1 less the standard deviation of the two used shares,
      which of two shares is half their difference.
    - `TaintToleration`, three times: how few taints of effect PreferNoSchedule a pod does not
      tolerate, over the most that any node has.

    The highest sum is taken; of equals, one at random. A pod that fits nowhere at the moment waits.

    Parameters
    ----------
    memory_margin
        So many times its data a task requests of memory, so that none is killed for want of it.
    seed
        Of the choice among equals.

    Notes
    -----
    Left out: ImageLocality, InterPodAffinity, PodTopologySpread, preferred node affinity, volumes
    and ports, priorities and preemption, and the sampling of nodes in clusters of more than 100.

    A pod that requests no processors would be started at once, and others with it be slower. Here
    it waits for those that it is taken to use (`Task.assumes_cpu`), but is scored by none.

    Pods are scheduled when they can run, so that it is asked then; asked for whole pipelines, it
    places their tasks one after the other as if all ran at the same time, and where not all fit at
    a time, those that do not go to the node with the best score among all that could run them.

    References
    ----------
    .. [1] Kubernetes documentation, "Kubernetes Scheduler", "Scheduler Configuration" and
       "Resource Bin Packing".
    """

    memory_margin: float = MEMORY_MARGIN
    seed: int = 0

    places_ready_tasks = True

    def place(self, pipelines: Sequence[Pipeline], state: ClusterState) -> Assignment:
        """Return the node of each task that fits somewhere, in the order of the pipelines."""
        nodes = state.cluster.nodes
        check_placeable(pipelines, nodes, self.memory_margin, without=state.fixed)
        used = {
            node.name: _Used(
                *state.requested.get(node.name, (0, 0, 0, 0)),
                state.assumed_cpu.get(node.name, 0.0),
            )
            for node in nodes
        }
        draws = random.Random(f"{self.seed}/{state.decisions}")
        found: dict[TaskKey, str] = {}
        choices: list[Choice] = []
        for pipeline in pipelines:
            for number in topological_order(pipeline):
                task = pipeline.tasks[number]
                key = pipeline.name, task.name
                if key in state.fixed:
                    continue
                choice = self._choose(key, task, nodes, used, draws)
                if choice is None and len(pipeline.tasks) == 1:
                    continue
                choice = choice or self._choose(key, task, nodes, {}, draws)
                if choice is not None:
                    choices.append(choice)
                    found[key] = choice.node
                    used[choice.node].add(task, self.memory_margin)
        return Assignment(found, tuple(found), tuple(choices))

    def _choose(
        self,
        key: TaskKey,
        task: Task,
        nodes: Sequence[ClusterNode],
        used: dict[str, _Used],
        draws: random.Random,
    ) -> Choice | None:
        margin = self.memory_margin
        able = [
            node
            for node in nodes
            if refusal(task, node, margin) is None
            and used.get(node.name, _EMPTY).has_room(task, node, margin)
        ]
        if not able:
            return None
        avoided = [_avoiding(task, node) for node in able]
        most = max(avoided)
        scores = [
            used.get(node.name, _EMPTY).score(task, node, margin)
            + _TAINTS_WEIGHT * (100.0 if not most else 100.0 * (most - count) / most)
            for node, count in zip(able, avoided, strict=True)
        ]
        best = max(scores)
        at = draws.choice([n for n, score in enumerate(scores) if score == best])
        return Choice(*key, able[at].name, f"scores {best:.0f}")


@dataclass(slots=True)
class _Used:
    """What pods have of a node."""

    cpu: float = 0.0
    memory: float = 0.0
    gpus: int = 0
    pods: int = 0
    assumed_cpu: float = 0.0

    def add(self, task: Task, margin: float) -> None:
        self.cpu += task.cpu
        self.assumed_cpu += task.cpu if task.assumes_cpu else 0.0
        self.memory += margin * task.memory_bytes
        self.gpus += task.gpus
        self.pods += task.is_pod

    def has_room(self, task: Task, node: ClusterNode, margin: float) -> bool:
        gpus = node.gpus.count if node.gpus else 0
        cpu = min(task.cpu, node.cpu) if task.assumes_cpu else task.cpu
        return (
            self.cpu + cpu <= node.cpu
            and self.memory + margin * task.memory_bytes <= node.memory_bytes
            and self.gpus + task.gpus <= gpus
            and self.pods + task.is_pod <= node.pods
        )

    def score(self, task: Task, node: ClusterNode, margin: float) -> float:
        needs = margin * task.memory_bytes
        # Only the sums of requests are known, so that the defaults of others are a lower bound.
        stated = self.cpu - self.assumed_cpu
        asked = 0.0 if task.assumes_cpu else task.cpu
        cpu = max(stated, self.pods * _DEFAULT_CPU) + (asked or _DEFAULT_CPU)
        memory = self.memory + (needs or _DEFAULT_MEMORY)
        free = max(0.0, 1 - cpu / node.cpu) + max(0.0, 1 - memory / node.memory_bytes)
        shares = (
            min(1.0, (stated + asked) / node.cpu),
            min(1.0, (self.memory + needs) / node.memory_bytes),
        )
        return 50.0 * free + 100.0 * (1 - abs(shares[0] - shares[1]) / 2)


_EMPTY = _Used()


def _avoiding(task: Task, node: ClusterNode) -> int:
    """Return how many taints a pod should rather not meet."""
    return sum(
        taint.effect == "PreferNoSchedule" and not tolerates(task.tolerations, taint)
        for taint in node.taints
    )
