"""Tasks, nodes and classes of nodes by number, as the planning of whole workloads needs them."""

from __future__ import annotations

import bisect
import math
import typing as t
from collections.abc import Sequence

from couler.cluster.model import ClusterNode
from couler.optimizers.placement.problem import Pipeline, Task, TaskKey, topological_order
from couler.optimizers.placement.requirements import is_exact, refusal, shape_of
from couler.optimizers.placement.speeds import Speeds
from couler.optimizers.placement.strategy import ClusterState

Amount: t.TypeAlias = tuple[float, float, float, float]
"""Processors, memory in bytes, GPUs and pods."""

Thrift: t.TypeAlias = tuple[float, int, float, int]
"""The price of a node, infinite if it is not known, then its GPUs, processors and memory."""

_WHOLE: Amount = (1.0, 0.0, 0.0, 0.0)
"""What a node has, and each task takes of it, where it runs one task at a time."""

_LONGEST_S = 1e100
"""What would take longer takes as long, so that sums of seconds stay numbers."""

_MOST_SHAPES = 32
"""Where tasks ask for more different amounts, those within the same powers of two are alike."""


class Hold(t.NamedTuple):
    """What is taken of a node by what is not to be placed, and until when."""

    until: float
    node: int
    amount: Amount


class Compiled:
    """What is to be placed, and where that can be."""

    def __init__(self, pipelines: Sequence[Pipeline], state: ClusterState, margin: float) -> None:
        self.nodes = state.cluster.nodes
        self.now = state.now_s
        self.rules = state.rules
        self.arrival = [pipeline.arrival_s for pipeline in pipelines]
        self.names = [pipeline.name for pipeline in pipelines]
        self.keys: list[TaskKey] = []
        self.pipeline_of: list[int] = []
        self.members: list[list[int]] = []
        """The tasks of each pipeline that can be placed: those that are not fixed."""
        self.before: list[list[tuple[int, float]]] = []
        """What each task reads from, and how long that takes from another node."""
        self.after: list[list[int]] = []
        self.fixed_node: list[int | None] = []
        """The node of a task that is fixed, -1 if that node is gone; None if it is to be placed."""
        self.fixed_end: list[float] = []
        self.classes = node_classes(self.nodes, pipelines, state.speeds, margin)
        self.class_of = [0] * len(self.nodes)
        for number, inside in enumerate(self.classes):
            for node in inside:
                self.class_of[node] = number
        self.price = [node.price_usd_per_h or 0.0 for node in self.nodes]
        self.has_prices = all(node.price_usd_per_h is not None for node in self.nodes)
        """Whether the prices of all nodes are known."""
        self.thrift = [_thrift(node) for node in self.nodes]
        """Which of two nodes is taken where a task ends on both at the same time: the less."""
        self.free = [max(state.now_s, state.free_s.get(one.name, 0.0)) for one in self.nodes]
        self.seconds: list[list[float]] = []
        """How long each task computes on each class of nodes; infinity where it cannot run."""
        self.is_shared = self.rules.dispatch == "tasks" and self.rules.sharing == "requests"
        """Whether tasks start by themselves on nodes that run as many as fit."""
        self.asked: list[Amount] = []
        """What each task takes of a node."""
        self.shapes: list[int] = []
        """A number for each task, the same for those that ask for alike amounts."""
        self._number_tasks(pipelines, state)
        self._time_tasks(pipelines, state, margin)
        self.room = [self._room(node) for node in self.nodes]
        """What each node has."""
        self.most = [_most(room) for room in self.room]
        """The most that may be used of each node."""
        self.holds = self._shared_holds(state) if self.is_shared else self._exclusive_holds()

    def _number_tasks(self, pipelines: Sequence[Pipeline], state: ClusterState) -> None:
        places = {node.name: number for number, node in enumerate(self.nodes)}
        for number, pipeline in enumerate(pipelines):
            tasks = [pipeline.tasks[at] for at in topological_order(pipeline)]
            names = {task.name: len(self.keys) + at for at, task in enumerate(tasks)}
            self.members.append([])
            for task in tasks:
                key = pipeline.name, task.name
                fixed = state.fixed.get(key)
                if fixed is None:
                    self.members[-1].append(len(self.keys))
                self.fixed_node.append(None if fixed is None else places.get(fixed.node, -1))
                self.fixed_end.append(0.0 if fixed is None else fixed.end_s)
                self.keys.append(key)
                self.pipeline_of.append(number)
                self.before.append([])
                self.after.append([])
                self.asked.append(self._amount(task))
            for edge in pipeline.edges:
                source, target = names[edge.source], names[edge.target]
                moved = min(_LONGEST_S, state.speeds.transfer_s(edge.size_bytes))
                self.before[target].append((source, moved))
                self.after[source].append(target)

    def _time_tasks(
        self, pipelines: Sequence[Pipeline], state: ClusterState, margin: float
    ) -> None:
        samples = [self.nodes[inside[0]] for inside in self.classes]
        able: dict[tuple[object, ...], list[bool]] = {}
        for pipeline in pipelines:
            for at in topological_order(pipeline):
                task = pipeline.tasks[at]
                shape = shape_of(task)
                if shape not in able:
                    able[shape] = [refusal(task, node, margin) is None for node in samples]
                self.seconds.append(
                    [
                        _takes(task, node, state) if can else math.inf
                        for node, can in zip(samples, able[shape], strict=True)
                    ]
                )

        self._number_shapes()

    def _amount(self, task: Task) -> Amount:
        if not self.is_shared:
            return _WHOLE
        memory = self.rules.memory_margin * task.memory_bytes
        return task.cpu, memory, float(task.gpus), float(task.is_pod)

    def _room(self, node: ClusterNode) -> Amount:
        if not self.is_shared:
            return _WHOLE
        gpus = node.gpus.count if node.gpus else 0
        return node.cpu, float(node.memory_bytes), float(gpus), float(node.pods)

    def _number_shapes(self) -> None:
        keys: list[tuple[float, ...]] = list(self.asked)
        if len(set(keys)) > _MOST_SHAPES:
            keys = [tuple(math.frexp(one)[1] if one else -math.inf for one in key) for key in keys]
        numbers: dict[tuple[float, ...], int] = {}
        self.shapes = [numbers.setdefault(key, len(numbers)) for key in keys]

    def _exclusive_holds(self) -> list[Hold]:
        return [Hold(free, node, _WHOLE) for node, free in enumerate(self.free) if free > self.now]

    def _shared_holds(self, state: ClusterState) -> list[Hold]:
        """Return what fixed tasks that still run hold, and what others do until nodes are free."""
        found = []
        held = [[0.0] * 4 for _ in self.nodes]
        until = [self.now] * len(self.nodes)
        for task, node in enumerate(self.fixed_node):
            if node is None or node < 0 or self.fixed_end[task] <= self.now:
                continue
            found.append(Hold(self.fixed_end[task], node, self.asked[task]))
            until[node] = max(until[node], self.fixed_end[task])
            for at, one in enumerate(self.asked[task]):
                held[node][at] += one
        for number, free in enumerate(self.free):
            known = state.requested.get(self.nodes[number].name)
            if known is not None:
                taken: Amount = known
            elif free > until[number] + 1e-9:
                taken = self.room[number]
            else:
                continue
            cpu, memory, gpus, pods = (
                max(0.0, one - had) for one, had in zip(taken, held[number], strict=True)
            )
            if free > self.now and (cpu > 1e-9 or memory > 1 or gpus > 0 or pods > 0):
                found.append(Hold(free, number, (cpu, memory, gpus, pods)))
        return found

    def initial_nodes(self) -> list[int]:
        """Return the node of each task that is fixed, and -1 for each other."""
        return [-1 if node is None else node for node in self.fixed_node]

    def class_thrift(self, node: int) -> Thrift:
        """Return the thrift of the nodes that are like a node, all the same."""
        return self.thrift[self.classes[self.class_of[node]][0]]

    def duration(self, task: int, node: int, nodes: Sequence[int]) -> float:
        """Return how long a task holds a node: it reads its inputs one by one, then computes."""
        seconds = self.seconds[task][self.class_of[node]]
        for source, moved in self.before[task]:
            if moved and nodes[source] != node:
                seconds += moved
        return seconds

    def ready(self, pipeline: int) -> float:
        """Return when those tasks of a pipeline that are fixed will all have ended."""
        return max(
            [
                self.fixed_end[source]
                for task in self.members[pipeline]
                for source, _ in self.before[task]
                if self.fixed_node[source] is not None
            ],
            default=0.0,
        )

    def tick(self, time: float) -> float:
        """Return when it is found out that nodes are free since a time."""
        return next_poll(time, self.rules.poll_s)


def has_room(used: Amount, more: Amount, most: Amount) -> bool:
    """Return whether more fits beside what is used, of the most that may be (`Compiled.most`)."""
    return (
        used[0] + more[0] <= most[0]
        and used[1] + more[1] <= most[1]
        and used[2] + more[2] <= most[2]
        and used[3] + more[3] <= most[3]
    )


def _most(room: Amount) -> Amount:
    """Return the most that fits; sums of what is used may be off by what rounding does."""
    return room[0] + 1e-9, room[1] + 1e-9, room[2] + 1e-9, room[3] + 1e-9


def _thrift(node: ClusterNode) -> Thrift:
    price = math.inf if node.price_usd_per_h is None else node.price_usd_per_h
    return price, node.gpus.count if node.gpus else 0, node.cpu, node.memory_bytes


def next_poll(time: float, poll_s: float) -> float:
    """Return the first multiple of a period that is not before a time."""
    if poll_s <= 0:
        return time
    # Sums of seconds are off by less than this: a node that is free at a poll is found then.
    return max(time, math.ceil(time / poll_s - 1e-9) * poll_s)


def _takes(task: Task, node: ClusterNode, state: ClusterState) -> float:
    """Return how long a task computes on a node."""
    found = state.speeds.known_seconds(task, node)
    return _LONGEST_S if found is None else min(_LONGEST_S, found)


_SIZES = 8
"""Of amounts from one power of two to the next, so many sizes are told apart."""


def node_classes(
    nodes: Sequence[ClusterNode],
    pipelines: Sequence[Pipeline],
    speeds: Speeds,
    margin: float = 1.0,
) -> list[list[int]]:
    """Return the numbers of nodes, those together that no task can tell apart."""
    named = {place for _, place in speeds.rates}
    labels: set[tuple[str, str]] = set()
    cpus: set[float] = set()
    data: set[float] = set()
    for pipeline in pipelines:
        for task in pipeline.tasks:
            named.update(task.seconds)
            labels.update(task.selector.items())
            data.add(margin * task.memory_bytes)
            if not task.assumes_cpu:
                cpus.add(task.cpu)
    cpu_steps, memory_steps = sorted(cpus), sorted(data)
    fitting = bisect.bisect_right if is_exact(margin) else bisect.bisect_left
    found: dict[object, list[int]] = {}
    for number, node in enumerate(nodes):
        gpus = node.gpus
        alike = (
            node.name if node.name in named else "",
            node.group,
            node.architecture,
            *size_of(node),
            bisect.bisect_right(cpu_steps, node.cpu),
            fitting(memory_steps, node.memory_bytes),
            None if gpus is None else (gpus.type, gpus.count, gpus.resource),
            node.pods,
            node.taints,
            node.price_usd_per_h,
            frozenset(labels.intersection(node.labels.items())) if labels else None,
        )
        found.setdefault(alike, []).append(number)
    return list(found.values())


def size_of(node: ClusterNode) -> tuple[int, int]:
    """Return how large the processors and the memory of a node are, about."""
    cpu, memory = (round(_SIZES * math.log2(one)) for one in (node.cpu, node.memory_bytes))
    return cpu, memory
