"""First plans, one task or pipeline after the other, each where it ends first."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from couler.optimizers.placement.compiled import Compiled, Thrift
from couler.optimizers.placement.free_nodes import FreeNodes, Offer
from couler.optimizers.placement.planned_pipelines import Course, course_of
from couler.optimizers.placement.shared_nodes import SharedNodes

__all__ = ["Plan", "list_pipelines", "list_tasks"]

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
