"""Which groups of nodes run which models: Table 4 of the placement paper, as data."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from couler.cluster.model import ClusterNode
from couler.optimizers.placement.problem import Task, TaskKind

__all__ = ["PREPROCESSING_GROUPS", "TABLE_4", "GroupRule", "rule_of"]


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
