"""First plans, one task or pipeline after the other, on the nodes that are free first."""

from __future__ import annotations

import bisect
import heapq
import math
import typing as t
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from couler.optimizers.placement.compiled import Amount, Compiled, Thrift, has_room
from couler.optimizers.placement.planned_pipelines import Course, course_of

GPU_GAIN = 1.5
"""GPUs are for tasks that are so many times as fast there; of others they are kept free."""


@dataclass(slots=True)
class Plan:
    """The node of each task, and what goes first."""

    nodes: list[int]
    priority: list[float]

    def copy(self) -> Plan:
        """Return a plan of its own."""
        return Plan(list(self.nodes), list(self.priority))


class _Affinity:
    """How much later than it would a task that GPUs do not help may be taken to end on them."""

    def __init__(self, model: Compiled) -> None:
        self._has_gpus = [model.nodes[inside[0]].gpus is not None for inside in model.classes]
        self._any = any(self._has_gpus)

    def penalty(self, row: Sequence[float], number: int) -> float:
        """Return the seconds that are added for a class of nodes: those of the task itself."""
        if not self._any or not self._has_gpus[number]:
            return 0.0
        best = min(
            (s for s, has in zip(row, self._has_gpus, strict=True) if not has), default=math.inf
        )
        return row[number] if best < math.inf and row[number] * GPU_GAIN > best else 0.0


def list_tasks(model: Compiled, order: Sequence[int], *, cheapest: bool = False) -> Plan:
    """Return where each task ends first, task by task, with insertion (HEFT)."""
    # H. Topcuoglu, S. Hariri, M.-Y. Wu (2002), section 4.2.
    nodes = model.initial_nodes()
    ends = list(model.fixed_end)
    starts = [0.0] * len(nodes)
    free = SharedNodes(model) if model.is_shared else FreeNodes(model)
    affinity = _Affinity(model)
    for task in order:
        row = model.seconds[task]
        before = model.before[task]
        ready = max([model.now, *(ends[source] for source, _ in before)])
        everything = sum(moved for _, moved in before)
        holders = {nodes[source] for source, moved in before if moved and nodes[source] >= 0}
        best: tuple[float, float, Thrift, float, Offer] | None = None
        for number, seconds in enumerate(row):
            if seconds == math.inf:
                continue
            more = affinity.penalty(row, number)
            inside = {
                node: sum(moved for source, moved in before if nodes[source] != node)
                for node in holders
                if model.class_of[node] == number
            }
            for offer in free.offers(number, task, ready, seconds, everything, inside):
                cost = model.price[offer.node] * free.added(offer) if cheapest else 0.0
                key = (cost, offer.end + more, model.thrift[offer.node], offer.begin, offer)
                if best is None or key < best:
                    best = key
        assert best is not None  # check_placeable has found a node
        offer = best[-1]
        free.accept(offer, task)
        nodes[task], ends[task], starts[task] = offer.node, offer.end, offer.begin
    return Plan(nodes, starts)


def list_pipelines(
    model: Compiled, order: Sequence[int], means: Sequence[float], *, cheapest: bool = False
) -> Plan:
    """Return where each pipeline ends first, pipeline by pipeline, if it starts as a whole."""
    nodes = model.initial_nodes()
    free = FreeNodes(model)
    affinity = _Affinity(model)
    for pipeline in order:
        tasks = model.members[pipeline]
        if not tasks:
            continue
        longest = max(tasks, key=means.__getitem__)
        best: tuple[tuple[float, float, float], list[int], float, Course] | None = None
        for choice in _choices(model, tasks, longest, free):
            for task, node in zip(tasks, choice, strict=True):
                nodes[task] = node
            course = course_of(model, pipeline, nodes)
            ready = max(
                [model.now, model.ready(pipeline), *(free.free[n] for n, _ in course.holds)]
            )
            start = model.tick(ready) if ready > model.now else ready
            more = sum(
                affinity.penalty(model.seconds[task], model.class_of[node])
                for task, node in zip(tasks, choice, strict=True)
            )
            end = start + course.seconds + more
            key = (course.cost if cheapest else 0.0, end, sum(held for _, held in course.holds))
            if best is None or key < best[0]:
                best = (key, choice, start, course)
        assert best is not None  # check_placeable has found a node for each task
        _, choice, start, course = best
        for task, node in zip(tasks, choice, strict=True):
            nodes[task] = node
        for node, held in course.holds:
            free.take(node, max(start, free.free[node]), start + held)
    priority = [0.0] * len(model.members)
    for position, pipeline in enumerate(order):
        priority[pipeline] = float(position)
    return Plan(nodes, priority)


def _choices(
    model: Compiled, tasks: Sequence[int], longest: int, free: FreeNodes
) -> list[list[int]]:
    """Return ways of placing a pipeline, each once."""
    firsts = [free.first(number) for number in range(len(model.classes))]
    elsewhere = {
        task: firsts[min(range(len(firsts)), key=model.seconds[task].__getitem__)] for task in tasks
    }

    def on(task: int, *wanted: int) -> int:
        for node in wanted:
            if model.seconds[task][model.class_of[node]] < math.inf:
                return node
        return elsewhere[task]

    found: dict[tuple[int, ...], None] = {}
    for anchor in firsts:
        if model.seconds[longest][model.class_of[anchor]] == math.inf:
            continue
        found[tuple(on(task, anchor) for task in tasks)] = None
        for helper in [*firsts, free.first(model.class_of[anchor], anchor)]:
            if helper in (-1, anchor):
                continue
            found[
                tuple(
                    on(task, anchor) if task == longest else on(task, helper, anchor)
                    for task in tasks
                )
            ] = None
            found[tuple(_faster(model, task, on(task, anchor), helper) for task in tasks)] = None
    return [list(choice) for choice in found]


def _faster(model: Compiled, task: int, node: int, other: int) -> int:
    row = model.seconds[task]
    return other if row[model.class_of[other]] < row[model.class_of[node]] else node


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
