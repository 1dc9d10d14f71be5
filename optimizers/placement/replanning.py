"""What is decided anew once a cluster has changed: only what has not started."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from couler.optimizers.placement.problem import (
    Assignment,
    Pipeline,
    TaskKey,
    check_pipelines,
    topological_order,
)
from couler.optimizers.placement.strategy import ClusterState, Fixed, PlacementStrategy

__all__ = ["Replan", "Started", "replan"]


@dataclass(frozen=True, slots=True)
class Started:
    """A task that has started.

    Attributes
    ----------
    node
        The name of the node on which it runs or ran; the node may be gone.
    start_s
        When it started.
    end_s
        When it ended; None if it has not.
    """

    node: str
    start_s: float
    end_s: float | None = None


@dataclass(frozen=True, slots=True)
class Replan:
    """What is decided anew.

    Attributes
    ----------
    assignment
        Of all that is to start: what had not started, and what is lost.
    kept
        Tasks that stay as they are: those that ended, and those that run on nodes that are there.
    lost
        Tasks that ran on nodes that are gone, and have to start again.
    moved
        Tasks whose node is another one than before, of those that had not started.
    """

    assignment: Assignment
    kept: tuple[TaskKey, ...]
    lost: tuple[TaskKey, ...]
    moved: tuple[TaskKey, ...]


def replan(
    pipelines: Sequence[Pipeline],
    strategy: PlacementStrategy,
    state: ClusterState,
    started: Mapping[TaskKey, Started],
    before: Assignment,
) -> Replan:
    """Place anew what has not started, for a cluster that has changed.

    Parameters
    ----------
    pipelines
        All that have not ended.
    strategy
        Places them.
    state
        The cluster as it is now, and the time. Loads, fixed tasks and when nodes are free follow
        from what has started, and need not be given; `free_s` of nodes that others use is kept.
    started
        What has started, and where.
    before
        The assignment until now.

    Raises
    ------
    UnplaceableError
        No node that is left can run some tasks; all are told.
    ValueError
        A task is said to have started before one that it reads from has ended.

    Notes
    -----
    What a task has made outlives its node, as it lies in the artifact store; reading it from there
    takes as long as from another node. A running task is expected to end when its seconds are over,
    or at any moment if it takes longer. The nodes of a pipeline that has started as a whole are
    held by the tasks of it that run; those that have not started are placed like any others.
    """
    check_pipelines(pipelines)
    names = {node.name: node for node in state.cluster.nodes}
    fixed: dict[TaskKey, Fixed] = {}
    lost: list[TaskKey] = []
    free = {name: at for name, at in state.free_s.items() if name in names}
    load: dict[str, int] = {}
    for pipeline in pipelines:
        _check_order(pipeline, started)
        for task in pipeline.tasks:
            key = pipeline.name, task.name
            one = started.get(key)
            if one is None:
                continue
            if one.end_s is not None:
                fixed[key] = Fixed(one.node, one.end_s)
            elif one.node not in names:
                lost.append(key)
            else:
                seconds = state.speeds.seconds(task, names[one.node])
                end = max(state.now_s, one.start_s + seconds)
                fixed[key] = Fixed(one.node, end)
                free[one.node] = max(free.get(one.node, 0.0), end)
                load[one.node] = load.get(one.node, 0) + 1
    found = strategy.place(
        pipelines,
        replace(state, fixed=fixed, free_s=free, load=load, requested={}, assumed_cpu={}),
    )
    gone = set(lost)
    moved = tuple(
        key
        for key in found.order
        if key not in gone and before.nodes.get(key, found.nodes[key]) != found.nodes[key]
    )
    return Replan(found, tuple(fixed), tuple(lost), moved)


def _check_order(pipeline: Pipeline, started: Mapping[TaskKey, Started]) -> None:
    for number in topological_order(pipeline):
        task = pipeline.tasks[number].name
        if (pipeline.name, task) not in started:
            continue
        for edge in pipeline.edges:
            source = started.get((pipeline.name, edge.source))
            if edge.target == task and (source is None or source.end_s is None):
                raise ValueError(
                    f'pipeline "{pipeline.name}": "{task}" is said to have started, but '
                    f'"{edge.source}", which it reads from, has not ended'
                )
