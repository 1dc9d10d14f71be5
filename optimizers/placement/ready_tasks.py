"""Tasks that wait for nothing but room on their nodes."""

from __future__ import annotations

import bisect
import heapq
from collections.abc import Callable, Iterable, Sequence

__all__ = ["ReadyTasks"]


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
