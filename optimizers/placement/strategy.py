"""What strategies of placement are asked, and what they are told."""

from __future__ import annotations

import typing as t
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from couler.cluster.model import Cluster
from couler.optimizers.placement.problem import Assignment, Pipeline, TaskKey
from couler.optimizers.placement.requirements import MEMORY_MARGIN
from couler.optimizers.placement.speeds import Speeds
from couler.plugins import PluginKind


@dataclass(frozen=True, slots=True)
class Rules:
    """When what is placed starts."""

    dispatch: t.Literal["pipelines", "tasks"] = "pipelines"
    sharing: t.Literal["exclusive", "requests", "contended"] = "exclusive"
    window_s: float = 15.0
    poll_s: float = 5.0
    memory_margin: float = MEMORY_MARGIN


@dataclass(frozen=True, slots=True)
class Fixed:
    """A task that has started or ended, so that nothing can be decided of it."""

    node: str
    end_s: float


@dataclass(frozen=True, slots=True)
class ClusterState:
    """What is known when tasks are placed."""

    cluster: Cluster
    speeds: Speeds
    rules: Rules = Rules()
    now_s: float = 0.0
    decisions: int = 0
    last_node: str | None = None
    load: Mapping[str, int] = field(default_factory=dict)
    requested: Mapping[str, tuple[float, float, int, int]] = field(default_factory=dict)
    assumed_cpu: Mapping[str, float] = field(default_factory=dict)
    fixed: Mapping[TaskKey, Fixed] = field(default_factory=dict)
    free_s: Mapping[str, float] = field(default_factory=dict)


@t.runtime_checkable
class PlacementStrategy(t.Protocol):
    """Chooses a node for each task, and the order in which tasks start."""

    def place(self, pipelines: Sequence[Pipeline], state: ClusterState) -> Assignment:
        """Return where all tasks of pipelines go, but for those that are fixed."""


STRATEGIES: PluginKind[PlacementStrategy] = PluginKind(
    "couler.placement_strategies",
    "placement strategy",
    PlacementStrategy,  # type: ignore[type-abstract]  # a protocol that is only compared with
)


def read_strategy(text: str) -> PlacementStrategy:
    """Load the strategy that a text names, with the options that it gives."""
    return STRATEGIES.read(text)
