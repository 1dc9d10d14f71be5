"""The three baselines of the placement paper, which know nothing of models or machines."""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from couler.cluster.model import ClusterNode
from couler.optimizers.placement.problem import Assignment, Pipeline, TaskKey, topological_order
from couler.optimizers.placement.requirements import check_placeable, refusal
from couler.optimizers.placement.strategy import ClusterState


@dataclass(frozen=True)
class RandomNodes:
    """Tasks on random nodes, pipelines as they come or shuffled: section 6.2 of the paper.

    The paper calls the two FCFS-Random and Random-Random. A node that cannot run a task is drawn
    again, so that each node that can is as likely.

    Attributes
    ----------
    seed
        Random seed; each decision has draws of its own.
    is_shuffled
        Whether pipelines are placed in random order.
    """

    seed: int
    is_shuffled: bool = False

    def place(self, pipelines: Sequence[Pipeline], state: ClusterState) -> Assignment:
        draws = random.Random(f"{self.seed}/{state.decisions}")
        if self.is_shuffled:
            pipelines = draws.sample(list(pipelines), len(pipelines))
        return _place(pipelines, state, draws.choice)


@dataclass(frozen=True)
class RoundRobin:
    """Pipelines as they come, tasks on one node after the other: FCFS-RR of section 6.2.

    A node that cannot run a task is passed over; the next task goes to the node behind the one that
    was taken, also in the next window.
    """

    def place(self, pipelines: Sequence[Pipeline], state: ClusterState) -> Assignment:
        nodes = state.cluster.nodes
        place = {node.name: number for number, node in enumerate(nodes)}
        at = place.get(state.last_node or "", -1) + 1

        def turn(able: Sequence[ClusterNode]) -> ClusterNode:
            nonlocal at
            node = min(able, key=lambda one: (place[one.name] - at) % len(nodes))
            at = place[node.name] + 1
            return node

        return _place(pipelines, state, turn)


def _place(
    pipelines: Sequence[Pipeline],
    state: ClusterState,
    choose: Callable[[Sequence[ClusterNode]], ClusterNode],
) -> Assignment:
    """Return an assignment in the order of the pipelines, by a choice among nodes that can."""
    nodes = state.cluster.nodes
    check_placeable(pipelines, nodes, without=state.fixed)
    found: dict[TaskKey, str] = {}
    for pipeline in pipelines:
        for number in topological_order(pipeline):
            task = pipeline.tasks[number]
            if (pipeline.name, task.name) not in state.fixed:
                able = [node for node in nodes if refusal(task, node) is None]
                found[pipeline.name, task.name] = choose(able).name
    return Assignment(found, tuple(found))
