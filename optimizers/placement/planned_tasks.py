"""What a plan comes to where each task starts by itself."""

from __future__ import annotations

import heapq
from collections.abc import Sequence

from couler.optimizers.placement.compiled import Amount, Compiled
from couler.optimizers.placement.planned_pipelines import Outcome

__all__ = ["run_tasks"]

_START, _FREE = -1, -2

_NOTHING: Amount = (0.0, 0.0, 0.0, 0.0)


def run_tasks(model: Compiled, nodes: Sequence[int], priority: Sequence[float]) -> Outcome:
    """Return what comes of tasks that start once their inputs are there and their node has room."""
    starts = [-1.0] * len(nodes)
    order: list[int] = []
    waits = [0] * len(nodes)
    room = _Room(model)
    events: list[tuple[float, int, int]] = []  # when what ends, becomes ready, or is given back
    running = [0] * len(model.members)
    since = [max(model.now, arrival) for arrival in model.arrival]
    waiting = [max(0.0, model.now - arrival) for arrival in model.arrival]
    end, cost, last = model.now, 0.0, -1
    until = [model.now] * len(model.nodes)
    has_fixed = any(node is not None for node in model.fixed_node)

    for inside in model.members:
        for task in inside:
            at = model.now
            for source, _ in model.before[task]:
                if model.fixed_node[source] is None:
                    waits[task] += 1
                else:
                    at = max(at, model.fixed_end[source])
            if not waits[task]:
                events.append((at, _START, task))
    for number, hold in enumerate(model.holds):
        room.hold(hold.node, hold.amount)
        events.append((hold.until, _FREE, number))
    heapq.heapify(events)
    while events:
        now = events[0][0]
        touched: dict[int, None] = {}
        while events and events[0][0] == now:
            _, what, number = heapq.heappop(events)
            if what == _FREE:
                hold = model.holds[number]
                room.give_back(hold.node, hold.amount)
                touched[hold.node] = None
            elif what == _START:
                room.wait(nodes[number], priority[number], number)
                touched[nodes[number]] = None
            else:
                node, pipeline = nodes[number], model.pipeline_of[number]
                room.give_back(node, model.asked[number])
                touched[node] = None
                end, last = now, pipeline
                running[pipeline] -= 1
                since[pipeline] = now
                for after in model.after[number]:
                    waits[after] -= 1
                    if not waits[after]:
                        at = _ready(model, after, now) if has_fixed else now
                        if at > now:
                            heapq.heappush(events, (at, _START, after))
                        else:
                            room.wait(nodes[after], priority[after], after)
                            touched[nodes[after]] = None
        for node in touched:
            while (task := room.take(node)) >= 0:
                pipeline = model.pipeline_of[task]
                seconds = model.duration(task, node, nodes)
                starts[task] = now
                order.append(task)
                if not running[pipeline]:
                    waiting[pipeline] += max(0.0, now - since[pipeline])
                running[pipeline] += 1
                begun = max(now, until[node])
                until[node] = max(until[node], now + seconds)
                paid = seconds if begun == now else until[node] - begun
                cost += model.price[node] * paid
                heapq.heappush(events, (now + seconds, 0, task))
    return Outcome(end, sum(waiting), cost / 3600, starts, last, order)


class _Room:
    """What is left of nodes, and which tasks wait for it."""

    def __init__(self, model: Compiled) -> None:
        self._asked = model.asked
        self._shapes = model.shapes
        self._most = model.most
        self._used: dict[int, Amount] = {}
        self._holders: dict[int, int] = {}
        self._waiting: dict[int, dict[int, list[tuple[float, int]]]] = {}
        """Of each node, the tasks that wait for it, by their shape."""

    def wait(self, node: int, priority: float, task: int) -> None:
        """Let a task wait for a node."""
        queues = self._waiting.setdefault(node, {})
        heapq.heappush(queues.setdefault(self._shapes[task], []), (priority, task))

    def hold(self, node: int, amount: Amount) -> None:
        """Take an amount of a node."""
        used = self._used.get(node, _NOTHING)
        self._used[node] = (
            used[0] + amount[0],
            used[1] + amount[1],
            used[2] + amount[2],
            used[3] + amount[3],
        )
        self._holders[node] = self._holders.get(node, 0) + 1

    def give_back(self, node: int, amount: Amount) -> None:
        """Give an amount of a node back."""
        used = self._used[node]
        self._used[node] = (
            used[0] - amount[0],
            used[1] - amount[1],
            used[2] - amount[2],
            used[3] - amount[3],
        )
        self._holders[node] -= 1

    def take(self, node: int) -> int:
        """Let the next task that fits have its amount, and return it; -1 if there is none."""
        queues = self._waiting.get(node)
        if not queues:
            return -1
        best: list[tuple[float, int]] | None = None
        if not self._holders.get(node):  # that it can run there at all was found before
            best = min(queues.values(), key=_first)
        else:
            used, most = self._used[node], self._most[node]
            for queue in queues.values():
                if best is not None and queue[0] > best[0]:
                    continue
                asked = self._asked[queue[0][1]]
                if (  # as `has_room`, which to call takes longer than to look
                    used[0] + asked[0] <= most[0]
                    and used[1] + asked[1] <= most[1]
                    and used[2] + asked[2] <= most[2]
                    and used[3] + asked[3] <= most[3]
                ):
                    best = queue
        if best is None:
            return -1
        task = heapq.heappop(best)[1]
        if not best:
            del queues[self._shapes[task]]
        self.hold(node, self._asked[task])
        return task


def _first(queue: list[tuple[float, int]]) -> tuple[float, int]:
    return queue[0]


def _ready(model: Compiled, task: int, now: float) -> float:
    """Return when all that a task reads has ended, of which some may be fixed and still run."""
    for source, _ in model.before[task]:
        if model.fixed_node[source] is not None:
            now = max(now, model.fixed_end[source])
    return now
