"""Questions about the graph of one scope; every answer takes time linear in steps plus edges."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cached_property

from couler.ir.walk import predecessors
from couler.ir.workflow import Step


class Graph:
    """The steps of one scope and the edges between them."""

    def __init__(self, edges: Mapping[str, Iterable[str]]) -> None:
        self.predecessors: dict[str, tuple[str, ...]] = {
            name: tuple(before for before in edges[name] if before in edges) for name in edges
        }

    @classmethod
    def of(cls, steps: Sequence[Step]) -> Graph:
        """Return the graph of the steps of one scope."""
        return cls({step.name: predecessors(step) for step in steps})

    @cached_property
    def successors(self) -> dict[str, tuple[str, ...]]:
        """For each step the steps that wait for it, in program order."""
        after: dict[str, list[str]] = {name: [] for name in self.predecessors}
        for name, befores in self.predecessors.items():
            for before in befores:
                after[before].append(name)
        return {name: tuple(names) for name, names in after.items()}

    @cached_property
    def topological_order(self) -> tuple[str, ...]:
        """The steps, each after all that it waits for; program order where the graph allows."""
        waiting = {name: len(befores) for name, befores in self.predecessors.items()}
        ready = [name for name, count in waiting.items() if count == 0]
        order: list[str] = []
        for name in ready:  # grows while it is read: a queue
            order.append(name)
            for after in self.successors[name]:
                waiting[after] -= 1
                if waiting[after] == 0:
                    ready.append(after)
        return tuple(order)

    @cached_property
    def places(self) -> dict[str, int]:
        """Of each step its place in the topological order, where it is in that."""
        return {name: number for number, name in enumerate(self.topological_order)}

    @property
    def roots(self) -> tuple[str, ...]:
        """The steps that wait for none."""
        return tuple(name for name, befores in self.predecessors.items() if not befores)

    @property
    def leaves(self) -> tuple[str, ...]:
        """The steps that none waits for."""
        return tuple(name for name, afters in self.successors.items() if not afters)

    @cached_property
    def levels(self) -> tuple[tuple[str, ...], ...]:
        """The steps by the length of the longest path that leads to them."""
        depth: dict[str, int] = {}
        levels: list[list[str]] = []
        for name in self.topological_order:
            level = max((depth[before] + 1 for before in self.predecessors[name]), default=0)
            depth[name] = level
            if level == len(levels):
                levels.append([])
            levels[level].append(name)
        return tuple(map(tuple, levels))

    def ancestors(self, name: str) -> frozenset[str]:
        """Return all steps that a step waits for, directly or through others."""
        found: set[str] = set()
        waiting = list(self.predecessors[name])
        while waiting:
            step = waiting.pop()
            if step not in found:
                found.add(step)
                waiting.extend(self.predecessors[step])
        return frozenset(found)

    def critical_path(self, seconds: Callable[[str], float]) -> tuple[tuple[str, ...], float]:
        """Return the path that takes longest, and how long it takes."""
        end: dict[str, float] = {}
        via: dict[str, str | None] = {}
        for name in self.topological_order:
            before = max(self.predecessors[name], key=end.__getitem__, default=None)
            via[name] = before
            end[name] = (end[before] if before is not None else 0.0) + seconds(name)
        if not end:
            return (), 0.0
        last: str | None = max(end, key=end.__getitem__)
        total = end[last] if last is not None else 0.0
        path: list[str] = []
        while last is not None:
            path.append(last)
            last = via[last]
        return tuple(reversed(path)), total

    def find_cycle(self) -> tuple[str, ...]:
        """Return one cycle, with its first step again at its end, or nothing if there is none."""
        on_cycle = set(self.predecessors) - set(self.topological_order)
        if not on_cycle:
            return ()
        name = next(step for step in self.predecessors if step in on_cycle)
        seen: dict[str, int] = {}
        walked: list[str] = []
        while name not in seen:
            seen[name] = len(walked)
            walked.append(name)
            name = next(step for step in self.predecessors[name] if step in on_cycle)
        cycle = walked[seen[name] :][::-1]
        rank = {step: index for index, step in enumerate(self.predecessors)}
        first = min(range(len(cycle)), key=lambda index: rank[cycle[index]])
        ordered = cycle[first:] + cycle[:first]
        return (*ordered, ordered[0])
