"""What strategies of placement are asked, and what they are told."""

from __future__ import annotations

import typing as t
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from couler.cluster.model import Cluster
from couler.optimizers.placement.problem import Assignment, Pipeline, TaskKey
from couler.optimizers.placement.requirements import MEMORY_MARGIN
from couler.optimizers.placement.speeds import Speeds

__all__ = ["ClusterState", "Fixed", "PlacementStrategy", "Rules"]


@dataclass(frozen=True, slots=True)
class Rules:
    """When what is placed starts.

    Attributes
    ----------
    dispatch
        `pipelines`: a pipeline starts when all of its nodes are free, and has each of them until
        none of its tasks needs it any more; waiting pipelines are looked through in order, and any
        that can start does (the paper). `tasks`: each task starts by itself when those that it
        reads from have ended and its node is free.
    sharing
        `exclusive`: a node runs one task at a time (the paper). `requests`: as many as fit by
        processors, memory and GPUs that they ask for, each as fast as alone. `contended`: the same,
        but k tasks on a node take k times as long as alone, as a speed is that of a whole node.
    window_s
        How long pipelines are collected, from the first one on, before they are placed together.
    poll_s
        Waiting pipelines are looked through at multiples of it, as free nodes are found out by
        asking; at once if it is 0. Tasks that start by themselves are not held up by it.
    memory_margin
        So many times its data a task takes of memory, where nodes are shared.
    """

    dispatch: t.Literal["pipelines", "tasks"] = "pipelines"
    sharing: t.Literal["exclusive", "requests", "contended"] = "exclusive"
    window_s: float = 15.0
    poll_s: float = 5.0
    memory_margin: float = MEMORY_MARGIN

    def __post_init__(self) -> None:
        """Refuse what goes with nothing."""
        if self.dispatch == "pipelines" and self.sharing == "contended":
            raise ValueError("contended nodes are for tasks that start by themselves")
        if not (self.window_s >= 0 and self.poll_s >= 0 and self.memory_margin >= 0):
            raise ValueError("window_s, poll_s and memory_margin must be at least 0")


@dataclass(frozen=True, slots=True)
class Fixed:
    """A task that has started or ended, so that nothing can be decided of it.

    Attributes
    ----------
    node
        Where it runs or ran, and so where its output is.
    end_s
        When it ended, or is expected to.
    """

    node: str
    end_s: float


@dataclass(frozen=True, slots=True)
class ClusterState:
    """What is known when tasks are placed.

    Attributes
    ----------
    cluster
        The nodes.
    speeds
        What is expected of them.
    rules
        When tasks will start.
    now_s
        The time.
    decisions
        How often a strategy was asked before.
    last_node
        The node that was assigned last; None before.
    load
        How many tasks are assigned to each node and have not ended; none where it is missing.
    requested
        Processors, memory in bytes and GPUs that running tasks have of each node, and how many pods
        they are.
    assumed_cpu
        Processors among those that no task has asked for (`Task.assumes_cpu`).
    fixed
        Tasks that have started or ended, of the pipelines that are asked for.
    free_s
        When each node will be free of what has started and of what is not asked for; now where it
        is missing.
    """

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
    """Chooses a node for each task, and the order in which tasks start.

    A strategy is a frozen dataclass whose fields are its options; equal questions have equal
    answers. Two attributes of its class, False where they are missing, say more of it:

    - `replans`: it is asked again for all that has not started, each time that pipelines arrive.
    - `places_ready_tasks`: where tasks start by themselves, it is asked for each when it can run,
      not for pipelines when they arrive, and may leave a task out for which no node has room at the
      moment.
    """

    def place(self, pipelines: Sequence[Pipeline], state: ClusterState) -> Assignment:
        """Return where all tasks of pipelines go, but for those that are fixed.

        Parameters
        ----------
        pipelines
            In the order in which they were submitted.
        state
            What is known.

        Raises
        ------
        UnplaceableError
            No node can run some tasks; all are told, each with the reason of every node.
        """
