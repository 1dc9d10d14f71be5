"""A run of grouped operators, event by event."""

from __future__ import annotations

import heapq
import math
from dataclasses import dataclass

from couler.optimizers.grouping.problem import Grouping, Problem
from couler.optimizers.grouping.solution import numbers_of

EPSILON = 1e-9


@dataclass(frozen=True, slots=True)
class Platform:
    """What groups run on."""

    pod_s: float = 0.0
    is_warm: bool = False
    inside_s: float = 0.0
    between_s: float = 0.0
    setups_at_once: int | None = None
    messages: int = 1


def simulate(problem: Problem, grouping: Grouping, platform: Platform) -> float:
    """Return the seconds of a run of a grouping."""
    return _Run(problem, grouping, platform).seconds()


class _Run:
    """The state of a run; events are functions of what happens, in the order of their times."""

    def __init__(self, problem: Problem, grouping: Grouping, platform: Platform) -> None:
        self.problem, self.platform = problem, platform
        self.group_of = numbers_of(problem, grouping)
        self.is_batch = problem.mode == "batch"
        self.now = 0.0
        self.events: list[tuple[float, int, str, int, int]] = []
        setup = {image.name: 0.0 if platform.is_warm else image.setup_s for image in problem.images}
        self.setup_s = [platform.pod_s + setup[group.image] for group in grouping]
        self.left = [len(group.operators) * platform.messages for group in grouping]
        self.ready: list[list[tuple[int, int, int]]] = [[] for _ in grouping]
        self.is_up = [False] * len(grouping)
        self.free = [
            [
                math.inf if limit is None else float(limit)
                for limit in (
                    problem.limits.cpu,
                    *(problem.limits.memory_bytes, problem.limits.gpus)[: 2 * self.is_batch],
                )
            ]
            for _ in grouping
        ]
        # What each operator waits for before each message: predecessors, and its message before.
        self.waits = {
            (node, message): len(problem.predecessors[node]) + (message > 0)
            for node in range(len(problem.operators))
            for message in range(platform.messages)
        }
        self.ended = 0.0
        self.groups_before = self._groups_before(len(grouping))
        self.setups: list[int] = []  # pods that wait for their turn to be set up
        self.used_setups = self.counted = 0
        self.touched: set[int] = set()  # groups in which an operator may start

    def _groups_before(self, count: int) -> list[set[int]]:
        found: list[set[int]] = [set() for _ in range(count)]
        for before, after, _ in self.problem.pairs:
            if self.group_of[before] != self.group_of[after]:
                found[self.group_of[after]].add(self.group_of[before])
        return found

    def seconds(self) -> float:
        """Run to the end."""
        self.setups = [
            group
            for group, befores in enumerate(self.groups_before)
            if not (self.is_batch and befores)
        ]
        self._take_setups()
        while self.events:
            self.now = self.events[0][0]
            # All that happens at a time does, before anything starts: else the order would decide.
            while self.events and self.events[0][0] == self.now:
                _, _, kind, group, task = heapq.heappop(self.events)
                if kind == "up":
                    self._up(group)
                elif kind == "arrival":
                    self._count(*divmod(task, self.platform.messages))
                else:
                    self._end(*divmod(task, self.platform.messages))
            touched, self.touched = sorted(self.touched), set()
            for group in touched:
                self._start(group)
        return self.ended

    def _after(
        self, seconds: float, kind: str, group: int, node: int = 0, message: int = 0
    ) -> None:
        task = node * self.platform.messages + message
        self.counted += 1
        heapq.heappush(self.events, (self.now + seconds, self.counted, kind, group, task))

    def _take_setups(self) -> None:
        while self.setups and self.used_setups < (self.platform.setups_at_once or math.inf):
            group = self.setups.pop(0)
            self.used_setups += 1
            self._after(self.setup_s[group], "up", group)

    def _up(self, group: int) -> None:
        self.used_setups -= 1
        self.is_up[group] = True
        self._take_setups()
        if self.is_batch:
            self._begin(group)
        elif all(self.is_up):
            for one in range(len(self.is_up)):
                self._begin(one)

    def _begin(self, group: int) -> None:
        """Make operators without inputs ready, and send those from other pods (batch mode)."""
        for node in self.problem.order:
            if self.group_of[node] != group:
                continue
            if not self.problem.predecessors[node]:
                self._make_ready(node, 0)
            if self.is_batch:
                for before in self.problem.predecessors[node]:
                    if self.group_of[before] != group:
                        self._send(before, node, 0)

    def _send(self, before: int, after: int, message: int) -> None:
        is_inside = self.group_of[before] == self.group_of[after]
        seconds = self.platform.inside_s if is_inside else self.platform.between_s
        if seconds:
            self._after(seconds, "arrival", self.group_of[after], after, message)
        else:
            self._count(after, message)

    def _count(self, node: int, message: int) -> None:
        self.waits[node, message] -= 1
        if not self.waits[node, message]:
            self._make_ready(node, message)

    def _make_ready(self, node: int, message: int) -> None:
        group = self.group_of[node]
        heapq.heappush(self.ready[group], (message, self.problem.rank[node], node))
        self.touched.add(group)

    def _needs(self, node: int) -> tuple[float, ...]:
        one = self.problem.operators[node]
        return one.cpu, *(float(one.memory_bytes), float(one.gpus))[: 2 * self.is_batch]

    def _start(self, group: int) -> None:
        """Start what there is room for."""
        free, left = self.free[group], []
        while self.ready[group]:
            message, rank, node = heapq.heappop(self.ready[group])
            needs = self._needs(node)
            if any(need > there + EPSILON for need, there in zip(needs, free, strict=True)):
                left.append((message, rank, node))
                continue
            for at, need in enumerate(needs):
                free[at] -= need
            self._after(self.problem.operators[node].seconds, "end", group, node, message)
        self.ready[group] = left  # popped in order: still a heap

    def _end(self, node: int, message: int) -> None:
        group = self.group_of[node]
        self.ended = self.now
        for at, need in enumerate(self._needs(node)):
            self.free[group][at] += need
        if message + 1 < self.platform.messages:
            self._count(node, message + 1)
        self.touched.add(group)
        for after in self.problem.successors[node]:
            if not self.is_batch or self.group_of[after] == group:
                self._send(node, after, message)
        self.left[group] -= 1
        if not self.left[group] and self.is_batch:
            self._end_pod(group)

    def _end_pod(self, group: int) -> None:
        for other, befores in enumerate(self.groups_before):
            if group in befores:
                befores.remove(group)
                if not befores:
                    self.setups.append(other)
        self._take_setups()
