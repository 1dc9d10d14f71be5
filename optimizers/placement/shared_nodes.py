"""When nodes have room for one more task, where they run as many as fit."""

from __future__ import annotations

import bisect
import heapq
import math
from collections.abc import Mapping

from couler.optimizers.placement.compiled import Amount, Compiled, has_room
from couler.optimizers.placement.free_nodes import Offer

__all__ = ["SharedNodes"]

_NODES_LOOKED_AT = 4
"""Of the nodes of a class, so many that have room for good first are looked at for earlier room."""

_CHANGES_KEPT = 512
"""Of what is planned for a node, so many changes are kept; before the first of them it is full."""

_NOTHING: Amount = (0.0, 0.0, 0.0, 0.0)


class SharedNodes:
    """What is planned for nodes that run as many tasks as fit on them."""

    def __init__(self, model: Compiled) -> None:
        self._model = model
        self._now = model.now
        self._times: dict[int, list[float]] = {}
        self._used: dict[int, list[Amount]] = {}
        """What is used of a node from each of its times on, after the last of them nothing."""
        self._until = [model.now] * len(model.nodes)
        self._heaps: dict[tuple[int, int], list[tuple[float, int]]] = {}
        some = [asked for asked in model.asked if any(asked)]
        cpu, memory, gpus, pods = (min(column) for column in zip(*some or [_NOTHING], strict=True))
        self._least: Amount = cpu, memory, gpus, pods
        for hold in model.holds:
            self._plan(hold.node, hold.amount, model.now, hold.until)

    def offers(
        self,
        number: int,
        task: int,
        ready: float,
        seconds: float,
        moving: float,
        holders: Mapping[int, float],
    ) -> list[Offer]:
        """Return where in a class of nodes a task could run; see `FreeNodes.offers`."""
        found = []
        for node, moved in holders.items():
            begin = self._start(node, task, ready, moved + seconds)
            found.append(Offer(node, begin + moved + seconds, -1, begin, moved + seconds))
        begin, node = self._first(number, task, ready, moving + seconds)
        found.append(Offer(node, begin + moving + seconds, -1, begin, moving + seconds))
        return found

    def added(self, offer: Offer) -> float:
        """Return for how much longer a node would be in use."""
        until = self._until[offer.node]
        return offer.seconds if until <= offer.begin else max(0.0, offer.end - until)

    def accept(self, offer: Offer, task: int) -> None:
        """Let a task run where it could."""
        self._until[offer.node] = max(self._until[offer.node], offer.end)
        self._plan(offer.node, self._model.asked[task], offer.begin, offer.end)

    def _first(self, number: int, task: int, ready: float, seconds: float) -> tuple[float, int]:
        """Return when a task can start in a class first, and on which node."""
        key = number, self._model.shapes[task]
        heap = self._heaps.get(key)
        if heap is None:
            heap = self._heaps[key] = [(self._now, node) for node in self._model.classes[number]]
            heapq.heapify(heap)
        best = math.inf, -1
        looked_at: list[tuple[float, int]] = []
        while heap and len(looked_at) < _NODES_LOOKED_AT:
            known, node = heap[0]
            for_good = self._for_good(node, task)
            if for_good > known:
                heapq.heapreplace(heap, (for_good, node))
                continue
            if for_good <= ready:
                best = min(best, (ready, node))
                break
            looked_at.append(heapq.heappop(heap))
            best = min(best, (self._start(node, task, ready, seconds), node))
        for one in looked_at:
            heapq.heappush(heap, one)
        return best

    def _for_good(self, node: int, task: int) -> float:
        """Return from when on a node has room for a task for good."""
        times = self._times.get(node)
        asked = self._model.asked[task]
        if times is None or not any(asked):
            return self._now
        used, at = self._used[node], len(times) - 1
        cpu, memory, gpus, pods = asked
        most_cpu, most_memory, most_gpus, most_pods = self._model.most[node]
        while at:  # as `has_room`, which to call takes longer than to look
            has = used[at - 1]
            if (
                has[0] + cpu > most_cpu
                or has[1] + memory > most_memory
                or has[2] + gpus > most_gpus
                or has[3] + pods > most_pods
            ):
                break
            at -= 1
        return times[at]

    def _start(self, node: int, task: int, ready: float, seconds: float) -> float:
        """Return when a node has room for a task first, for as long as that takes."""
        times = self._times.get(node)
        asked = self._model.asked[task]
        if times is None or not any(asked):
            return ready
        used, most = self._used[node], self._model.most[node]
        at = max(0, bisect.bisect_right(times, ready) - 1)
        begin = max(ready, times[at])
        last = len(times) - 1  # nothing is used from then on
        while at < last and times[at] < begin + seconds:
            if not has_room(used[at], asked, most):
                begin = times[at + 1]
            at += 1
        return begin

    def _plan(self, node: int, amount: Amount, begin: float, end: float) -> None:
        if end <= begin or not any(amount):
            return
        times = self._times.setdefault(node, [self._now])
        used = self._used.setdefault(node, [_NOTHING])
        first, last = self._change(node, begin), self._change(node, end)
        for at in range(first, last):
            cpu, memory, gpus, pods = used[at]
            used[at] = cpu + amount[0], memory + amount[1], gpus + amount[2], pods + amount[3]
        most = self._model.most[node]
        full = max(0, len(times) - _CHANGES_KEPT)
        while full < len(times) - 1 and not has_room(used[full], self._least, most):
            full += 1
        del times[:full], used[:full]

    def _change(self, node: int, time: float) -> int:
        """Return the place of a change, which is made if there is none at that time."""
        times, used = self._times[node], self._used[node]
        at = bisect.bisect_left(times, time)
        if at == len(times) or times[at] != time:
            times.insert(at, time)
            used.insert(at, used[at - 1] if at else _NOTHING)
        return at
