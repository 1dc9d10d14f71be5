"""Shortest job first, each task on the least loaded node of the groups for its model."""

from __future__ import annotations

import typing as t
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from couler.cluster.model import ClusterNode
from couler.optimizers.placement.problem import (
    Assignment,
    Choice,
    Pipeline,
    Task,
    TaskKey,
    TaskKind,
    topological_order,
)
from couler.optimizers.placement.requirements import (
    MEMORY_MARGIN,
    check_placeable,
    refusal,
)
from couler.optimizers.placement.strategy import ClusterState


@dataclass(frozen=True, slots=True)
class GroupRule:
    """Models that some groups run in a kind of task."""

    models: tuple[str, ...]
    kind: TaskKind
    groups: tuple[str, ...]
    architectures: tuple[str, ...] = ("amd64", "arm64")
    sort_by: tuple[str, ...] = ("cpu",)

    def covers(self, node: ClusterNode) -> bool:
        """Return whether a node is of the groups and architectures."""
        return node.group in self.groups and node.architecture in self.architectures


# As the paper calls them, and as steps do (`couler.operations`).
_SIMPLE = ("LR", "DT", "logistic-regression", "linear-regression", "decision-tree")
_MIDDLE = ("RF", "SVM", "random-forest", "linear-svm", "kernel-svm")
_NETWORKS = ("DNN", "CNN", "dense-network", "convolutional-network")

_FLAGS = ("cpu_flags", "cpu")
_BOTH = ("amd64", "arm64")

TABLE_4 = (
    GroupRule(_SIMPLE, "training", ("low", "medium")),
    GroupRule(_MIDDLE, "training", ("medium", "high-cpu"), _BOTH, _FLAGS),
    GroupRule(_NETWORKS, "training", ("high-cpu", "high-gpu"), ("amd64",), ()),
    GroupRule(_SIMPLE, "evaluation", ("low",)),
    GroupRule(_MIDDLE, "evaluation", ("low", "medium")),
    GroupRule(_NETWORKS, "evaluation", ("medium", "high-cpu")),
)
"""The mapping of the paper; the architectures and the sorting are those of its published code."""

PREPROCESSING_GROUPS = ("low", "medium", "high-cpu")
"""Where the published code prepares data; Algorithm 1 does so on any node."""


def rule_of(rules: Iterable[GroupRule], task: Task) -> GroupRule | None:
    """Return the first rule for the model and the kind of a task; None if there is none."""
    for rule in rules:
        if rule.kind == task.kind and task.model in rule.models:
            return rule
    return None


def sort_key(rule: GroupRule, node: ClusterNode) -> tuple[float, ...]:
    """Return what nodes are sorted by; what is not known comes first, as in the published code."""
    values = {"cpu": node.cpu, "cpu_flags": node.cpu_flags or 0, "memory": node.memory_bytes}
    return tuple(values[name] for name in rule.sort_by)


@dataclass(frozen=True)
class ShortestJobGroups:
    """The strategy of the placement paper [1]_: its section 4.2 and Algorithm 1.

    Pipelines are sorted by their operations, the fewest first. Then, task by task, a node is
    chosen: of those that the mapping names for the model, that have the memory and that the
    pipeline uses already, the one with the fewest tasks; if the pipeline uses none of them, of
    all that the mapping names. Preparing data may go to any node with the memory. If the mapping
    names none, the node with the fewest tasks of all with the memory is the fallback.

    Parameters
    ----------
    variant
        `algorithm-1`, or `published-code` for what the authors' program does where it differs:
        see below.
    rules
        The mapping of models to groups; Table 4 of the paper if nothing else is said.
    memory_margin
        The memory of a node must be above so many times the data.
    gpu_queue_limit
        So many tasks may be assigned to a node with GPUs and not have ended before the next one
        goes elsewhere.

    Notes
    -----
    The paper's readings that had to be chosen, and the program's:

    * Algorithm 1 does not print the rule for GPUs, which section 6.4 states: a task whose groups
      have nodes with GPUs waits for one of these until the limit is reached, and then goes to the
      least loaded node. `algorithm-1` tries this before it looks at the nodes that the pipeline
      uses, as otherwise a network would be trained where its data were prepared; a running task
      counts for the limit. In `published-code` the limit is a score: the node with the highest
      `(limit if it has GPUs else 0) - load` is taken, of equals the one with the lower load, so
      that the limit is relative to the load of the other nodes, and memory is not looked at.
    * `published-code` prepares data on nodes of the groups low, medium and high-cpu alone, sorted
      by memory; sorts nodes by the fields of the mapping before the least loaded is taken (the
      first of equals); and falls back to the least loaded node of high-cpu, without a look at its
      memory. The program ends in an error if no node is left for a pipeline that has nodes already;
      here that is a fallback too. Where a fallback cannot run the task, any node that can is taken.
    * Neither knows requirements (architecture, labels, taints, GPUs that are asked for): nodes
      that do not meet them are no candidates here.
    * Load is the number of tasks that are assigned to a node and have not ended. Of equals, the
      first in the cluster is taken.
    * A task of another kind, or of a model that the mapping does not name, is placed as one that
      prepares data.

    References
    ----------
    .. [1] Optimising ML Pipeline Execution via Smart Task Placement, Electronics 2025, 14(13),
       2555: sections 4.2, 6.4, Table 4, Algorithm 1.
    """

    variant: t.Literal["algorithm-1", "published-code"] = "algorithm-1"
    rules: tuple[GroupRule, ...] = TABLE_4
    memory_margin: float = MEMORY_MARGIN
    gpu_queue_limit: int = 3

    def __post_init__(self) -> None:
        """Refuse a number that means nothing."""
        if self.gpu_queue_limit < 0:
            raise ValueError(f"gpu_queue_limit is at least 0, not {self.gpu_queue_limit}")

    def place(self, pipelines: Sequence[Pipeline], state: ClusterState) -> Assignment:
        """Return where tasks go, the shortest pipeline first."""
        nodes = state.cluster.nodes
        check_placeable(pipelines, nodes, self.memory_margin, without=state.fixed)
        placing = _Placing(self, nodes, dict(state.load))
        for pipeline in sorted(pipelines, key=lambda one: one.operations):
            placing.used = {
                name: fixed.node
                for name in (task.name for task in pipeline.tasks)
                if (fixed := state.fixed.get((pipeline.name, name))) is not None
            }
            for number in topological_order(pipeline):
                task = pipeline.tasks[number]
                if (pipeline.name, task.name) not in state.fixed:
                    placing.place(pipeline.name, task)
        return Assignment(placing.nodes, tuple(placing.nodes), tuple(placing.choices))


class _Placing:
    """Algorithm 1 under way: L, A, and the nodes of the pipeline at hand."""

    def __init__(
        self, options: ShortestJobGroups, nodes: Sequence[ClusterNode], load: dict[str, int]
    ) -> None:
        self.nodes: dict[TaskKey, str] = {}
        self.choices: list[Choice] = []
        self.used: dict[str, str] = {}
        """The node of each task of the pipeline at hand."""
        self._options = options
        self._all = nodes
        self._load = load

    def place(self, pipeline: str, task: Task) -> None:
        """Choose the node of one task."""
        node, why = self._choose(task)
        self.choices.append(Choice(pipeline, task.name, node.name, why))
        self.nodes[pipeline, task.name] = node.name
        self.used[task.name] = node.name
        self._load[node.name] = self._tasks(node) + 1

    def _choose(self, task: Task) -> tuple[ClusterNode, str]:
        """Return the node of a task, and why."""
        rule = rule_of(self._options.rules, task)
        if rule is None:
            candidates = self._for_preparing(task)
            why = "the fewest tasks of the nodes with memory for its data"
        else:
            candidates = self._of_rule(task, rule)
            where = " and ".join(rule.groups)
            why = f"the fewest tasks of the nodes in {where}, for {task.kind} of {task.model}"
            at_gpu = self._with_gpu(rule, candidates)
            if at_gpu is not None:
                return at_gpu, f"has GPUs, which {task.model} waits for"
            used = [one for one in candidates if one.name in self.used.values()]
            if used and not self._scores(rule):
                node = self._least(used)
                if node is not None:
                    return node, f"is used by the pipeline already, and in {where}"
        node = self._least(candidates)
        if node is not None:
            return node, why
        return self._fallback(task)

    def _for_preparing(self, task: Task) -> list[ClusterNode]:
        able = self._able(task, self._all)
        if self._options.variant == "algorithm-1":
            return able
        here = [one for one in able if one.group in PREPROCESSING_GROUPS]
        return sorted(here, key=lambda one: one.memory_bytes)

    def _of_rule(self, task: Task, rule: GroupRule) -> list[ClusterNode]:
        covered = [one for one in self._all if rule.covers(one)]
        if self._options.variant == "algorithm-1":
            return self._able(task, covered)
        covered.sort(key=lambda one: sort_key(rule, one))
        return self._able(task, covered, memory=not self._is_for_gpus(rule))

    def _with_gpu(self, rule: GroupRule, candidates: list[ClusterNode]) -> ClusterNode | None:
        """Return the node with GPUs that a task goes to before all else; None if it does not."""
        if not self._is_for_gpus(rule):
            return None
        limit = self._options.gpu_queue_limit
        if self._scores(rule):
            best = min(
                candidates,
                key=lambda one: (self._tasks(one) - limit * bool(one.gpus), self._tasks(one)),
                default=None,
            )
            return best if best is not None and best.gpus else None
        return self._least(one for one in candidates if one.gpus and self._tasks(one) < limit)

    def _is_for_gpus(self, rule: GroupRule) -> bool:
        """Return whether nodes that a rule names have GPUs."""
        return any(one.gpus and rule.covers(one) for one in self._all)

    def _scores(self, rule: GroupRule) -> bool:
        """Return whether a rule's nodes are scored, so that those in use are not preferred."""
        return self._options.variant == "published-code" and self._is_for_gpus(rule)

    def _fallback(self, task: Task) -> tuple[ClusterNode, str]:
        if self._options.variant == "published-code":
            here = [one for one in self._all if one.group == "high-cpu"]
            node = self._least(self._able(task, here, memory=False))
            if node is not None:
                return node, "the fallback: the fewest tasks in high-cpu"
        able = self._able(task, self._all)
        return min(able, key=self._tasks), "the fallback: the fewest tasks of all"

    def _able(
        self, task: Task, nodes: Iterable[ClusterNode], *, memory: bool = True
    ) -> list[ClusterNode]:
        margin = self._options.memory_margin if memory else 0.0
        return [one for one in nodes if refusal(task, one, margin) is None]

    def _least(self, nodes: Iterable[ClusterNode]) -> ClusterNode | None:
        return min(nodes, key=self._tasks, default=None)

    def _tasks(self, node: ClusterNode) -> int:
        return self._load.get(node.name, 0)
