"""What a cluster is made of, as far as choosing machines for steps needs to know."""

from __future__ import annotations

import typing as t
from collections.abc import Mapping
from dataclasses import dataclass, field

__all__ = [
    "BANDWIDTH_BYTES_PER_S",
    "PODS",
    "Cluster",
    "ClusterNode",
    "Effect",
    "Gpus",
    "Speed",
    "Taint",
]

BANDWIDTH_BYTES_PER_S = 125e6
"""Of a network of one Gbit/s: what is taken between nodes where nothing is stated."""

PODS = 110
"""How many pods the kubelet runs on a node where nothing is stated."""

Effect: t.TypeAlias = t.Literal["NoSchedule", "PreferNoSchedule", "NoExecute"]
"""What a taint does to pods that do not tolerate it, in the words of Kubernetes."""


@dataclass(frozen=True, slots=True)
class Gpus:
    """The GPUs of a node, all of one type.

    Attributes
    ----------
    type
        The model, such as `a100`; empty if it is not known.
    count
        How many, at least 1.
    memory_bytes
        Memory of each; None if it is not known.
    resource
        The name under which Kubernetes knows them.
    """

    type: str
    count: int = 1
    memory_bytes: int | None = None
    resource: str = "nvidia.com/gpu"


@dataclass(frozen=True, slots=True)
class Taint:
    """What keeps pods away that do not tolerate it."""

    key: str
    value: str = ""
    effect: Effect = "NoSchedule"


@dataclass(frozen=True, slots=True)
class ClusterNode:
    """A machine.

    Attributes
    ----------
    name
        Its name in the cluster; nodes that stand for a pool are numbered, `pool-1` and so on.
    cpu
        Processors that pods may have (Kubernetes: allocatable), above 0.
    memory_bytes
        Memory that pods may have, above 0.
    group
        The performance group that it belongs to, such as `low` or `high-gpu`; empty for none.
    pool
        The pool that it was made of; empty for a node of its own.
    architecture
        As Kubernetes names it: `amd64`, `arm64`.
    gpus
        None for a machine without.
    labels
        What selectors can ask for.
    taints
        What its pods must tolerate.
    price_usd_per_h
        US dollars for an hour; None if it is not known.
    cpu_flags
        How many features its processors name; None if it is not known.
    pods
        How many pods it runs at most (Kubernetes: allocatable), at least 1.
    """

    name: str
    cpu: float
    memory_bytes: int
    group: str = ""
    pool: str = ""
    architecture: str = "amd64"
    gpus: Gpus | None = None
    labels: Mapping[str, str] = field(default_factory=dict)
    taints: tuple[Taint, ...] = ()
    price_usd_per_h: float | None = None
    cpu_flags: int | None = None
    pods: int = PODS


@dataclass(frozen=True, slots=True)
class Speed:
    """How fast machines compute.

    Attributes
    ----------
    operations_per_s
        Operations a second, above 0, in the unit in which steps state their operations.
    group
        The performance group of the machines, or the name of one; empty for all.
    model
        The kind of model, such as `random-forest`; empty for all.
    """

    operations_per_s: float
    group: str = ""
    model: str = ""


@dataclass(frozen=True, slots=True)
class Cluster:
    """All machines, in the order of their file.

    Attributes
    ----------
    nodes
        The machines; names are unique.
    name
        What the cluster is called; may be empty.
    speeds
        How fast the machines compute, as far as that is known; each pair of group and model once.
    bandwidth_bytes_per_s
        Between any two machines, above 0.
    pod_start_s
        What a pod takes to start, at least 0.
    """

    nodes: tuple[ClusterNode, ...]
    name: str = ""
    speeds: tuple[Speed, ...] = ()
    bandwidth_bytes_per_s: float = BANDWIDTH_BYTES_PER_S
    pod_start_s: float = 0.0

    @property
    def groups(self) -> tuple[str, ...]:
        """The performance groups, each once, in the order of the nodes."""
        return tuple(dict.fromkeys(node.group for node in self.nodes if node.group))

    def in_groups(self, *groups: str) -> tuple[ClusterNode, ...]:
        """Return the nodes of some groups, in the order of the nodes."""
        return tuple(node for node in self.nodes if node.group in groups)
