"""What a plan comes to where pipelines start as wholes."""

from __future__ import annotations

import heapq
import typing as t
from collections.abc import Sequence
from dataclasses import dataclass

from couler.optimizers.placement.compiled import Compiled


class Outcome(t.NamedTuple):
    """What a plan comes to."""

    end: float
    waiting: float
    cost: float
    starts: list[float]
    last: int
    order: Sequence[int] = ()


@dataclass(frozen=True, slots=True)
class Course:
    """A pipeline from its start on."""

    holds: tuple[tuple[int, float], ...]
    seconds: float
    cost: float
    begins: tuple[float, ...]


def course_of(
    model: Compiled,
    pipeline: int,
    nodes: Sequence[int],
    order: Sequence[int] | None = None,
) -> Course:
    """Return what a pipeline does once all of its nodes are its own."""
    ends: dict[int, float] = {}
    holds: dict[int, float] = {}
    begins: list[float] = []
    for task in model.members[pipeline] if order is None else order:
        node = nodes[task]
        begin = holds.get(node, 0.0)
        for source, _ in model.before[task]:
            begin = max(begin, ends.get(source, 0.0))
        end = begin + model.duration(task, node, nodes)
        begins.append(begin)
        ends[task] = holds[node] = end
    seconds = max(ends.values(), default=0.0)
    cost = sum(model.price[node] * held for node, held in holds.items()) / 3600
    return Course(tuple(holds.items()), seconds, cost, tuple(begins))


def run_pipelines(model: Compiled, order: Sequence[int], courses: Sequence[Course]) -> Outcome:
    """Return what comes of pipelines that start when all of their nodes are free."""
    return _Waiting(model, order, courses).run()


class _Waiting:
    """Pipelines that wait for nodes."""

    def __init__(self, model: Compiled, order: Sequence[int], courses: Sequence[Course]) -> None:
        self._model = model
        self._order = order
        self._courses = courses
        self._starts = [-1.0] * len(courses)
        self._is_held = [free > model.now for free in model.free]
        self._waiters: list[list[int]] = [[] for _ in model.nodes]
        """Positions in the order of the pipelines that need each node."""
        self._heads = [0] * len(model.nodes)
        self._events: list[tuple[float, int]] = []
        """When a node is found to be free; or, as -1 less its position, a pipeline to be ready."""
        self._ready = [model.ready(pipeline) for pipeline in order]
        self._needed: set[int] = set()

    def run(self) -> Outcome:
        model, order, courses = self._model, self._order, self._courses
        end, waiting, cost, last = model.now, 0.0, 0.0, -1
        for position, pipeline in enumerate(order):
            for node, _ in courses[pipeline].holds:
                self._waiters[node].append(position)
                self._needed.add(node)
            if self._ready[position] > model.now:
                self._events.append((model.tick(self._ready[position]), -1 - position))
        for node in self._needed:
            if self._is_held[node]:
                self._events.append((model.tick(model.free[node]), node))
        heapq.heapify(self._events)
        for position in range(len(order)):
            self._try(position, model.now)
        while self._events:
            now = self._events[0][0]
            freed: list[int] = []
            ready: list[int] = []
            while self._events and self._events[0][0] == now:
                what = heapq.heappop(self._events)[1]
                if what >= 0:
                    freed.append(what)
                    self._is_held[what] = False
                else:
                    ready.append(-1 - what)
            self._look(now, freed, ready)
        for pipeline in order:
            start, course = self._starts[pipeline], courses[pipeline]
            if start + course.seconds > end:
                end, last = start + course.seconds, pipeline
            waiting += max(0.0, start - model.arrival[pipeline])
            cost += course.cost
        return Outcome(end, waiting, cost, self._starts, last)

    def _look(self, now: float, freed: Sequence[int], ready: Sequence[int]) -> None:
        """Start what can start, in order, of the pipelines that wait for what has become free."""
        heap: list[tuple[int, int, int]] = [(position, -1, 0) for position in ready]
        for node in freed:
            waiters, head = self._waiters[node], self._heads[node]
            while head < len(waiters) and self._starts[self._order[waiters[head]]] >= 0:
                head += 1
            self._heads[node] = head
            if head < len(waiters):
                heap.append((waiters[head], node, head))
        heapq.heapify(heap)
        while heap:
            position, node, at = heap[0]
            if node >= 0 and self._is_held[node]:  # taken again: the others on it go on waiting
                heapq.heappop(heap)
                continue
            self._try(position, now)
            following = at + 1
            if node >= 0 and not self._is_held[node] and following < len(self._waiters[node]):
                heapq.heapreplace(heap, (self._waiters[node][following], node, following))
            else:
                heapq.heappop(heap)

    def _try(self, position: int, now: float) -> None:
        pipeline = self._order[position]
        course = self._courses[pipeline]
        if self._starts[pipeline] >= 0 or self._ready[position] > now:
            return
        is_held = self._is_held
        for node, _ in course.holds:
            if is_held[node]:
                return
        self._starts[pipeline] = now
        for node, held in course.holds:
            if held > 0:
                is_held[node] = True
                heapq.heappush(self._events, (self._model.tick(now + held), node))
