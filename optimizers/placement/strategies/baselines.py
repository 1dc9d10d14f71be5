"""The three baselines of the placement paper, which know nothing of models or machines."""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from couler.cluster.model import ClusterNode
from couler.optimizers.placement.problem import (
    Assignment,
    Choice,
    Pipeline,
    Task,
    TaskKey,
    check_pipelines,
    topological_order,
)
from couler.optimizers.placement.requirements import MEMORY_MARGIN, check_placeable, refusal
from couler.optimizers.placement.strategy import ClusterState

__all__ = ["FirstComeRandom", "FirstComeRoundRobin", "RandomRandom"]


@dataclass(frozen=True)
class RandomRandom:
    """Pipelines in random order, tasks on random nodes: Random-Random of the paper, section 6.2.

    A node that cannot run a task is drawn again, so that each that can is as likely.

    Parameters
    ----------
    seed
        Of what is drawn; the n-th question to one strategy has draws of its own.
    memory_margin
        The memory of a node must be above so many times the data.
    """

    seed: int = 0
    memory_margin: float = MEMORY_MARGIN

    def place(self, pipelines: Sequence[Pipeline], state: ClusterState) -> Assignment:
        """Return draws."""
        draws = _draws(self.seed, state)
        shuffled = draws.sample(list(pipelines), len(pipelines))
        return _place(shuffled, state, self.memory_margin, lambda _, able: draws.choice(able))


@dataclass(frozen=True)
class FirstComeRandom:
    """Pipelines as they come, tasks on random nodes: FCFS-Random of the paper, section 6.2.

    Parameters
    ----------
    seed, memory_margin
        As for `RandomRandom`.
    """

    seed: int = 0
    memory_margin: float = MEMORY_MARGIN

    def place(self, pipelines: Sequence[Pipeline], state: ClusterState) -> Assignment:
        """Return draws."""
        draws = _draws(self.seed, state)
        return _place(pipelines, state, self.memory_margin, lambda _, able: draws.choice(able))


@dataclass(frozen=True)
class FirstComeRoundRobin:
    """Pipelines as they come, tasks on one node after the other: FCFS-RR of section 6.2.

    A node that cannot run a task is passed over; the next task goes on behind the node that was
    taken, also in the next window.

    Parameters
    ----------
    memory_margin
        The memory of a node must be above so many times the data.
    """

    memory_margin: float = MEMORY_MARGIN

    def place(self, pipelines: Sequence[Pipeline], state: ClusterState) -> Assignment:
        """Return nodes in turn."""
        nodes = state.cluster.nodes
        place = {node.name: number for number, node in enumerate(nodes)}
        at = place.get(state.last_node or "", -1) + 1

        def turn(_: Task, able: Sequence[ClusterNode]) -> ClusterNode:
            nonlocal at
            node = min(able, key=lambda one: (place[one.name] - at) % len(nodes))
            at = place[node.name] + 1
            return node

        return _place(pipelines, state, self.memory_margin, turn)


def _draws(seed: int, state: ClusterState) -> random.Random:
    return random.Random(f"{seed}/{state.decisions}")


def _place(
    pipelines: Sequence[Pipeline],
    state: ClusterState,
    margin: float,
    choose: Callable[[Task, Sequence[ClusterNode]], ClusterNode],
) -> Assignment:
    """Return an assignment in the order of the pipelines, by a choice among nodes that can."""
    check_pipelines(pipelines)
    nodes = state.cluster.nodes
    check_placeable(pipelines, nodes, margin, without=state.fixed)
    found: dict[TaskKey, str] = {}
    choices: list[Choice] = []
    for pipeline in pipelines:
        for number in topological_order(pipeline):
            task = pipeline.tasks[number]
            if (pipeline.name, task.name) in state.fixed:
                continue
            able = [node for node in nodes if refusal(task, node, margin) is None]
            node = choose(task, able)
            others = [one.name for one in able if one is not node]
            choices.append(
                Choice(
                    pipeline.name,
                    task.name,
                    node.name,
                    "drawn or in turn, among those that can run it",
                    others[0] if others else None,
                    "was not drawn, or not in turn" if others else "",
                )
            )
            found[pipeline.name, task.name] = node.name
    return Assignment(found, tuple(found), tuple(choices))
