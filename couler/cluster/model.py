"""What a cluster is made of, as far as choosing machines for steps needs to know."""

from __future__ import annotations

import typing as t
from collections.abc import Mapping
from dataclasses import dataclass, field

BANDWIDTH_BYTES_PER_S = 125e6
"""Of a network of one Gbit/s: what is taken between nodes where nothing is stated."""

PODS = 110
"""How many pods the kubelet runs on a node where nothing is stated."""

Effect: t.TypeAlias = t.Literal["NoSchedule", "PreferNoSchedule", "NoExecute"]
"""What a taint does to pods that do not tolerate it, in the words of Kubernetes."""


@dataclass(frozen=True, slots=True)
class Gpus:
    """The GPUs of a node, all of one type."""

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
    """A machine."""

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
    """How fast machines compute."""

    operations_per_s: float
    group: str = ""
    model: str = ""


@dataclass(frozen=True, slots=True)
class Cluster:
    """All machines, in the order of their file."""

    nodes: tuple[ClusterNode, ...]
    name: str = ""
    speeds: tuple[Speed, ...] = ()
    bandwidth_bytes_per_s: float = BANDWIDTH_BYTES_PER_S
    pod_start_s: float = 0.0

    @property
    def groups(self) -> tuple[str, ...]:
        """The performance groups, each once, in the order of the nodes."""
        return tuple(dict.fromkeys(node.group for node in self.nodes if node.group))
