"""Which nodes of a class are free first, and where between tasks there is room."""

from __future__ import annotations

import bisect
import heapq
import math
import typing as t
from collections.abc import Mapping

from couler.optimizers.placement.compiled import Compiled

__all__ = ["FreeNodes", "Offer"]

_GAPS_LOOKED_AT = 16
"""Of the gaps of a class in which a task might fit, so many of the earliest are looked at."""


class Offer(t.NamedTuple):
    """Where and when a task could run."""

    node: int
    end: float
    place: int
    begin: float
    seconds: float


class FreeNodes:
    """When nodes become free: the first of a class in O(log n), and gaps before that."""

    def __init__(self, model: Compiled) -> None:
        self.free = list(model.free)
        self._class_of = model.class_of
        self._heaps: list[list[tuple[float, int]]] = []
        self._gaps: list[list[tuple[float, float, int]]] = [[] for _ in model.classes]
        """End, begin and node of each gap, sorted."""
        for inside in model.classes:
            heap = [(self.free[node], node) for node in inside]
            heapq.heapify(heap)
            self._heaps.append(heap)

    def offers(
        self,
        number: int,
        task: int,
        ready: float,
        seconds: float,
        moving: float,
        holders: Mapping[int, float],
    ) -> list[Offer]:
        """Return where in a class of nodes a task could run."""
        found = []
        for node, moved in ((self.first(number), moving), *holders.items()):
            begin = max(self.free[node], ready)
            found.append(Offer(node, begin + moved + seconds, -1, begin, moved + seconds))
        start, node, place = self.gap(number, ready, seconds + moving)
        if node >= 0:
            end = start + moving + seconds
            found.append(Offer(node, end, place, start, moving + seconds))
        return found

    def added(self, offer: Offer) -> float:
        """Return for how much longer a node would be in use."""
        return offer.seconds

    def accept(self, offer: Offer, task: int) -> None:
        """Let a task run where it could."""
        if offer.place >= 0:
            self.fill(self._class_of[offer.node], offer.place, offer.begin, offer.end - offer.begin)
        else:
            self.take(offer.node, offer.begin, offer.end)

    def first(self, number: int, besides: int = -1) -> int:
        """Return the node of a class that is free first; -1 if there is none besides another."""
        heap = self._heaps[number]
        while heap[0][0] != self.free[heap[0][1]]:
            heapq.heappop(heap)
        if heap[0][1] != besides:
            return heap[0][1]
        top = heapq.heappop(heap)
        while heap and heap[0][0] != self.free[heap[0][1]]:
            heapq.heappop(heap)
        found = heap[0][1] if heap else -1
        heapq.heappush(heap, top)
        return found

    def gap(self, number: int, ready: float, seconds: float) -> tuple[float, int, int]:
        """Return when a task could start in a gap of a class, on which node, and in which gap."""
        gaps = self._gaps[number]
        best = (math.inf, -1, -1)
        at = bisect.bisect_left(gaps, (ready + seconds,))
        for place in range(at, min(at + _GAPS_LOOKED_AT, len(gaps))):
            end, begin, node = gaps[place]
            start = max(begin, ready)
            if start + seconds <= end and start < best[0]:
                best = (start, node, place)
        return best

    def fill(self, number: int, place: int, start: float, seconds: float) -> None:
        """Use a part of a gap."""
        end, begin, node = self._gaps[number].pop(place)
        for one in ((start, begin, node), (end, start + seconds, node)):
            if one[0] > one[1]:
                bisect.insort(self._gaps[number], one)

    def take(self, node: int, start: float, until: float) -> None:
        """Use a node from a time on, at or after it is free; what is before becomes a gap."""
        number = self._class_of[node]
        if start > self.free[node]:
            bisect.insort(self._gaps[number], (start, self.free[node], node))
        self.free[node] = until
        heapq.heappush(self._heaps[number], (until, node))
