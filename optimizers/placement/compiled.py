"""Tasks and nodes by number, as the planning of whole workloads needs them."""

from __future__ import annotations

import math
from collections.abc import Sequence

from couler.optimizers.placement.node_classes import node_classes
from couler.optimizers.placement.problem import Pipeline, TaskKey, topological_order
from couler.optimizers.placement.requirements import refusal, shape_of
from couler.optimizers.placement.strategy import ClusterState

__all__ = ["Compiled", "next_poll"]


class Compiled:
    """What is to be placed, and where that can be.

    Tasks are numbered so that those of a pipeline stand together, each after those that it reads
    from. All times are in seconds.

    Parameters
    ----------
    pipelines
        Checked ones.
    state
        What is known.
    margin
        Memory over data, see `refusal`.

    Notes
    -----
    O(n c + m) for n tasks, m edges and c classes of nodes.
    """

    def __init__(self, pipelines: Sequence[Pipeline], state: ClusterState, margin: float) -> None:
        self.nodes = state.cluster.nodes
        self.now = state.now_s
        self.rules = state.rules
        self.arrival = [pipeline.arrival_s for pipeline in pipelines]
        self.names = [pipeline.name for pipeline in pipelines]
        self.keys: list[TaskKey] = []
        self.pipeline_of: list[int] = []
        self.members: list[list[int]] = []
        """The tasks of each pipeline that can be placed: those that are not fixed."""
        self.before: list[list[tuple[int, float]]] = []
        """What each task reads from, and how long that takes from another node."""
        self.after: list[list[int]] = []
        self.fixed_node: list[int | None] = []
        """The node of a task that is fixed, -1 if that node is gone; None if it is to be placed."""
        self.fixed_end: list[float] = []
        self.classes = node_classes(self.nodes, pipelines, state.speeds)
        self.class_of = [0] * len(self.nodes)
        for number, inside in enumerate(self.classes):
            for node in inside:
                self.class_of[node] = number
        self.price = [node.price_usd_per_h or 0.0 for node in self.nodes]
        self.free = [max(state.now_s, state.free_s.get(one.name, 0.0)) for one in self.nodes]
        self.seconds: list[list[float]] = []
        """How long each task computes on each class of nodes; infinity where it cannot run."""
        self._number_tasks(pipelines, state)
        self._time_tasks(pipelines, state, margin)

    def _number_tasks(self, pipelines: Sequence[Pipeline], state: ClusterState) -> None:
        places = {node.name: number for number, node in enumerate(self.nodes)}
        for number, pipeline in enumerate(pipelines):
            tasks = [pipeline.tasks[at] for at in topological_order(pipeline)]
            names = {task.name: len(self.keys) + at for at, task in enumerate(tasks)}
            self.members.append([])
            for task in tasks:
                key = pipeline.name, task.name
                fixed = state.fixed.get(key)
                if fixed is None:
                    self.members[-1].append(len(self.keys))
                self.fixed_node.append(None if fixed is None else places.get(fixed.node, -1))
                self.fixed_end.append(0.0 if fixed is None else fixed.end_s)
                self.keys.append(key)
                self.pipeline_of.append(number)
                self.before.append([])
                self.after.append([])
            for edge in pipeline.edges:
                source, target = names[edge.source], names[edge.target]
                moved = state.speeds.transfer_s(edge.size_bytes)
                self.before[target].append((source, moved))
                self.after[source].append(target)

    def _time_tasks(
        self, pipelines: Sequence[Pipeline], state: ClusterState, margin: float
    ) -> None:
        samples = [self.nodes[inside[0]] for inside in self.classes]
        able: dict[tuple[object, ...], list[bool]] = {}
        for pipeline in pipelines:
            for at in topological_order(pipeline):
                task = pipeline.tasks[at]
                shape = shape_of(task)
                if shape not in able:
                    able[shape] = [refusal(task, node, margin) is None for node in samples]
                self.seconds.append(
                    [
                        state.speeds.seconds(task, node) if can else math.inf
                        for node, can in zip(samples, able[shape], strict=True)
                    ]
                )

    def initial_nodes(self) -> list[int]:
        """Return the node of each task that is fixed, and -1 for each other."""
        return [-1 if node is None else node for node in self.fixed_node]

    def duration(self, task: int, node: int, nodes: Sequence[int]) -> float:
        """Return how long a task holds a node: it reads its inputs one by one, then computes."""
        seconds = self.seconds[task][self.class_of[node]]
        for source, moved in self.before[task]:
            if moved and nodes[source] != node:
                seconds += moved
        return seconds

    def ready(self, pipeline: int) -> float:
        """Return when those tasks of a pipeline that are fixed will all have ended."""
        return max(
            [
                self.fixed_end[source]
                for task in self.members[pipeline]
                for source, _ in self.before[task]
                if self.fixed_node[source] is not None
            ],
            default=0.0,
        )

    def tick(self, time: float) -> float:
        """Return when it is found out that nodes are free since a time."""
        return next_poll(time, self.rules.poll_s)


def next_poll(time: float, poll_s: float) -> float:
    """Return the first multiple of a period that is not before a time.

    Examples
    --------
    >>> next_poll(10.2, 5.0), next_poll(10.0, 5.0), next_poll(10.2, 0.0)
    (15.0, 10.0, 10.2)
    """
    if poll_s <= 0:
        return time
    # Sums of seconds are off by less than this: a node that is free at a poll is found then.
    return max(time, math.ceil(time / poll_s - 1e-9) * poll_s)
