"""What a plan comes to where each task starts by itself."""

from __future__ import annotations

import heapq
from collections.abc import Sequence

from couler.optimizers.placement.compiled import Compiled
from couler.optimizers.placement.planned_pipelines import Outcome

__all__ = ["run_tasks"]

_START, _FREE = -1, -2


def run_tasks(model: Compiled, nodes: Sequence[int], priority: Sequence[float]) -> Outcome:
    """Return what comes of tasks that start when their inputs are there and their node is free.

    Parameters
    ----------
    model
        Tasks, nodes, and when these are free at first.
    nodes
        The node of each task.
    priority
        Of those that wait for a node, the task with the least number is next.

    Notes
    -----
    O((n + m) log n) for n tasks and m edges.
    """
    starts = [-1.0] * len(nodes)
    waits = [0] * len(nodes)
    queues: dict[int, list[tuple[float, int]]] = {}
    events: list[tuple[float, int, int]] = []  # what ends or becomes ready; -1 for a free node
    running = [0] * len(model.members)
    since = [max(model.now, arrival) for arrival in model.arrival]
    waiting = [max(0.0, model.now - arrival) for arrival in model.arrival]
    end, cost, last = model.now, 0.0, -1
    held: set[int] = set()

    for inside in model.members:
        for task in inside:
            at = model.now
            for source, _ in model.before[task]:
                if model.fixed_node[source] is None:
                    waits[task] += 1
                else:
                    at = max(at, model.fixed_end[source])
            queues.setdefault(nodes[task], [])
            if not waits[task]:
                events.append((at, _START, task))
    for node in queues:
        if model.free[node] > model.now:
            held.add(node)
            events.append((model.free[node], _FREE, node))
    heapq.heapify(events)
    while events:
        now = events[0][0]
        touched: dict[int, None] = {}
        while events and events[0][0] == now:
            _, what, number = heapq.heappop(events)
            if what == _FREE:
                held.discard(number)
                touched[number] = None
            elif what == _START:
                heapq.heappush(queues[nodes[number]], (priority[number], number))
                touched[nodes[number]] = None
            else:
                node, pipeline = nodes[number], model.pipeline_of[number]
                held.discard(node)
                touched[node] = None
                end, last = now, pipeline
                running[pipeline] -= 1
                since[pipeline] = now
                for after in model.after[number]:
                    waits[after] -= 1
                    if not waits[after]:
                        at = _ready(model, after, now)
                        if at > now:
                            heapq.heappush(events, (at, _START, after))
                        else:
                            heapq.heappush(queues[nodes[after]], (priority[after], after))
                            touched[nodes[after]] = None
        for node in touched:
            if node in held or not queues[node]:
                continue
            task = heapq.heappop(queues[node])[1]
            pipeline = model.pipeline_of[task]
            seconds = model.duration(task, node, nodes)
            starts[task] = now
            if not running[pipeline]:
                waiting[pipeline] += max(0.0, now - since[pipeline])
            running[pipeline] += 1
            cost += model.price[node] * seconds
            held.add(node)
            heapq.heappush(events, (now + seconds, 0, task))
    return Outcome(end, sum(waiting), cost / 3600, starts, last)


def _ready(model: Compiled, task: int, now: float) -> float:
    """Return when all that a task reads has ended, of which some may be fixed and still run."""
    for source, _ in model.before[task]:
        if model.fixed_node[source] is not None:
            now = max(now, model.fixed_end[source])
    return now
