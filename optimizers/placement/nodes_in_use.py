"""Use of nodes by tasks while a run is simulated, and tasks that wait for room alone."""

from __future__ import annotations

import bisect
import heapq
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from couler.cluster.model import ClusterNode
from couler.optimizers.placement.problem import Task
from couler.optimizers.placement.strategy import Rules

_Amount = tuple[float, float, float, float]

_NOTHING: _Amount = (0.0, 0.0, 0.0, 0.0)


@dataclass(slots=True)
class _Node:
    room: _Amount
    used: _Amount = _NOTHING
    holders: int = 0
    remaining: dict[int, float] = field(default_factory=dict)
    """Seconds that each running task would still take alone."""
    since: float = 0.0
    """When that was last true."""

    def hold(self, amount: _Amount, sign: int) -> None:
        """Have an amount more, or less if the sign is -1."""
        cpu, memory, gpus, pods = (
            had + sign * more for had, more in zip(self.used, amount, strict=True)
        )
        self.used = cpu, memory, gpus, pods
        self.holders += sign


class NodesInUse:
    """Nodes, and what has them: a task each, or as many as fit."""

    def __init__(self, nodes: Sequence[ClusterNode], tasks: Sequence[Task], rules: Rules) -> None:
        self._names = [node.name for node in nodes]
        margin = rules.memory_margin
        self._asked: list[_Amount] = [
            (task.cpu, margin * task.memory_bytes, float(task.gpus), float(task.is_pod))
            for task in tasks
        ]
        self._assumes_cpu = [task.assumes_cpu for task in tasks]
        if rules.sharing == "exclusive":
            self._nodes = [_Node((1.0, 1.0, 1.0, 1.0)) for _ in nodes]
            self._amounts: list[_Amount] = [(1.0, 1.0, 1.0, 1.0)] * len(tasks)
        else:
            self._nodes = [
                _Node((node.cpu, node.memory_bytes, node.gpus.count if node.gpus else 0, node.pods))
                for node in nodes
            ]
            self._amounts = self._asked
        self._is_contended = rules.sharing == "contended"
        self._versions = [0] * len(tasks)
        self._held: dict[tuple[int, int], _Amount] = {}

    def is_used(self, node: int) -> bool:
        """Return whether anything runs on a node or holds it."""
        return self._nodes[node].holders > 0

    def is_current(self, task: int, version: int) -> bool:
        """Return whether the end of a task is still to be when it was last said to be."""
        return self._versions[task] == version

    def requested(self) -> Mapping[str, tuple[float, float, int, int]]:
        """Return what running tasks ask for of each node, and how many they are."""
        found = {}
        for name, node in zip(self._names, self._nodes, strict=True):
            if node.remaining:
                asked = [self._asked[task] for task in node.remaining]
                cpu, memory, gpus, pods = (sum(some) for some in zip(*asked, strict=True))
                found[name] = (cpu, memory, int(gpus), int(pods))
        return found

    def assumed_cpu(self) -> Mapping[str, float]:
        """Return the processors of what is requested that running tasks do not ask for."""
        return {
            name: cpu
            for name, node in zip(self._names, self._nodes, strict=True)
            if (cpu := sum(self._asked[t][0] for t in node.remaining if self._assumes_cpu[t]))
        }

    def take_all(self, pipeline: int, tasks: Sequence[tuple[int, int]]) -> bool:
        """Hold the nodes of a pipeline's tasks if all have room, and return whether they do."""
        wanted: dict[int, _Amount] = {}
        for task, node in tasks:
            wanted[node] = _larger(wanted.get(node, _NOTHING), self._amount(task, node))
        if not all(self._has_room(node, amount) for node, amount in wanted.items()):
            return False
        for node, amount in wanted.items():
            self._held[pipeline, node] = amount
            self._nodes[node].hold(amount, 1)
        return True

    def give_back(self, pipeline: int, node: int) -> None:
        """Hold a node no more for a pipeline."""
        amount = self._held.pop((pipeline, node))
        self._nodes[node].hold(amount, -1)

    def take(self, task: int, node: int) -> bool:
        """Hold a node for a task if it has room, and return whether it does."""
        amount = self._amount(task, node)
        if not self._has_room(node, amount):
            return False
        self._nodes[node].hold(amount, 1)
        return True

    def run(self, task: int, node: int, seconds: float, now: float) -> list[tuple[int, float, int]]:
        """Begin a task, and return the new ends: tasks, times, and their versions."""
        self._pass(node, now)
        self._nodes[node].remaining[task] = seconds
        return self._ends(node, now, None if self._is_contended else task)

    def stop(self, task: int, node: int, now: float) -> list[tuple[int, float, int]]:
        """End a task, and return the new ends of others."""
        self._pass(node, now)
        del self._nodes[node].remaining[task]
        self._nodes[node].hold(self._amount(task, node), -1)
        return self._ends(node, now, None) if self._is_contended else []

    def _pass(self, node: int, now: float) -> None:
        """Let tasks run until now."""
        one = self._nodes[node]
        if self._is_contended and one.remaining:
            done = (now - one.since) / len(one.remaining)
            one.remaining = {task: max(0.0, left - done) for task, left in one.remaining.items()}
        one.since = now

    def _ends(self, node: int, now: float, only: int | None) -> list[tuple[int, float, int]]:
        one = self._nodes[node]
        share = len(one.remaining) if self._is_contended else 1
        found = []
        for task, left in one.remaining.items():
            if only is None or task == only:
                self._versions[task] += 1
                found.append((task, now + left * share, self._versions[task]))
        return found

    def _amount(self, task: int, node: int) -> _Amount:
        """Return what a task takes of a node: what is only assumed is not more than there is."""
        amount = self._amounts[task]
        if not self._assumes_cpu[task]:
            return amount
        return min(amount[0], self._nodes[node].room[0]), *amount[1:]

    def _has_room(self, node: int, amount: _Amount) -> bool:
        one = self._nodes[node]
        return all(
            used + more <= room + 1e-9
            for used, more, room in zip(one.used, amount, one.room, strict=True)
        )


def _larger(one: _Amount, other: _Amount) -> _Amount:
    cpu, memory, gpus, pods = map(max, one, other)
    return cpu, memory, gpus, pods


class ReadyTasks:
    """Tasks that could start if their nodes had room, by node, in start order."""

    def __init__(self) -> None:
        self._places: dict[int, tuple[int, int]] = {}
        self._waiting: dict[int, list[tuple[int, int]]] = {}
        self._touched: set[int] = set()

    def arrange(self, order: Iterable[tuple[int, int]], is_ready: Callable[[int], bool]) -> None:
        """Take all tasks that have not started, with their nodes, in a new order."""
        self._places = {task: (number, node) for number, (task, node) in enumerate(order)}
        self._waiting, self._touched = {}, set()
        for task in self._places:
            if is_ready(task):
                self.add(task)

    def add(self, task: int) -> None:
        """Take note that a task waits for nothing but room; nothing if it has no node yet."""
        if task not in self._places:
            return
        number, node = self._places[task]
        bisect.insort(self._waiting.setdefault(node, []), (number, task))
        self._touched.add(node)

    def free(self, node: int) -> None:
        """Take note that something on a node has ended."""
        self._touched.add(node)

    def start(self, begin: Callable[[int, int], bool]) -> Sequence[int]:
        """Start what has room, in the order of all nodes together; return it."""
        touched = [node for node in self._touched if node in self._waiting]
        self._touched = set()
        started = []
        for _, task in heapq.merge(*(tuple(self._waiting[node]) for node in touched)):
            if begin(task, self._places[task][1]):
                started.append(task)
        gone = set(started)
        for node in touched if gone else ():
            self._waiting[node] = [one for one in self._waiting[node] if one[1] not in gone]
        return started
