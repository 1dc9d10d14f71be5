"""Fewer parts: merging those that fit together, without a circle and without losing time."""

from __future__ import annotations

import heapq
from collections.abc import Iterator, Sequence

from couler.optimizers.partitioning.blocks import Blocks
from couler.optimizers.partitioning.timing import longest_path

TRIES, MOST_TRIES = 16, 32_000
"""With how many parts a part is tried of those that it reads from, and of those before it: at most,
and at most for all parts in sum."""


class Merging:
    """Parts as nodes of their quotient, with the time window of each."""

    def __init__(self, blocks: Blocks, part_of: Sequence[int], count: int, makespan: float) -> None:
        self._blocks = blocks
        self._tries = max(1, min(TRIES, MOST_TRIES // max(count, 1)))
        self.inside: list[list[int]] = [[] for _ in range(count)]
        self.takes = [0.0] * count
        self.before: list[dict[int, int]] = [{} for _ in range(count)]
        self.after: list[dict[int, int]] = [{} for _ in range(count)]
        self.done = [0.0] * len(part_of)
        """When each block ends, from the start of its part."""
        done, takes, seconds = self.done, self.takes, blocks.seconds
        for block, (part, befores) in enumerate(zip(part_of, blocks.before, strict=True)):
            self.inside[part].append(block)
            waits = self.before[part]
            end = 0.0
            for one in befores:
                other = part_of[one]
                if other != part:
                    waits[other] = waits.get(other, 0) + 1
                elif done[one] > end:
                    end = done[one]
            done[block] = end = end + seconds[block]
            if end > takes[part]:
                takes[part] = end
        for part, waits in enumerate(self.before):
            for other, edges in waits.items():
                self.after[other][part] = edges
        self.load = [blocks.budget.part + blocks.load(inside) for inside in self.inside]
        self.start = [0.0] * count
        for part in range(count):
            self.start[part] = self._start(part)
        self.makespan = max(map(self.end, range(count)), default=0.0)
        """When the run ends."""
        self.limit = max(makespan, self.makespan)
        """When it may end."""
        self.due = [self.limit] * count
        for part in range(count - 1, -1, -1):
            self.due[part] = self._due(part)

    def end(self, part: int) -> float:
        """Return when a part ends."""
        return self.start[part] + self.takes[part]

    def merge_all(self) -> None:
        """Try each part once with those that it reads from and with some before it."""
        for part in range(len(self.inside)):
            for other in self._candidates(part):
                if self._merge(other, part):
                    break

    def parts(self) -> list[list[int]]:
        """Return the blocks of the parts that are left, by when they start."""
        left = [part for part, inside in enumerate(self.inside) if inside]
        left.sort(key=lambda part: (self.start[part], part))  # rises along edges
        return [self.inside[part] for part in left]

    def _candidates(self, part: int) -> Iterator[int]:
        befores = self.before[part]
        yield from sorted(befores, key=lambda one: (-befores[one], -one))[: self._tries]
        tried = 0
        for other in range(part - 1, -1, -1):
            if self.inside[other] and other not in befores:
                tried += 1
                if tried > self._tries:
                    return
                yield other

    def _merge(self, low: int, high: int) -> bool:
        """Make two parts one, and return whether it was possible."""
        blocks, budget = self._blocks, self._blocks.budget
        load = self.load[low] + self.load[high] - budget.part
        if not budget.cut and not budget.fits(load):
            return False
        pulls = all(one <= low for one in self.before[high])
        if not pulls and any(one < high for one in self.after[low]):
            return False
        if not budget.fits(load):
            # What crossed between the two does so no more.
            load = budget.part + blocks.load(self.inside[low] + self.inside[high])
            if not budget.fits(load):
                return False
        start, due = self._window(low, high)
        takes = max(self.takes[low], self.takes[high])
        if start + takes > due:
            return False
        if high in self.after[low]:
            takes = longest_path(blocks, self.inside[low] + self.inside[high])
            if start + takes > due:
                return False
        kept, gone = (low, high) if pulls else (high, low)
        self.load[kept] = load
        self.takes[kept] = takes
        self._join(kept, gone)
        return True

    def _window(self, low: int, high: int) -> tuple[float, float]:
        """Return when all before two parts have ended, and when both must have."""
        starts, dues, takes = self.start, self.due, self.takes
        start, due = 0.0, self.limit
        for part in (low, high):
            for one in self.before[part]:
                if one != low and starts[one] + takes[one] > start:
                    start = starts[one] + takes[one]
            for one in self.after[part]:
                if one != high and dues[one] - takes[one] < due:
                    due = dues[one] - takes[one]
        return start, due

    def _join(self, kept: int, gone: int) -> None:
        self.inside[kept] += self.inside[gone]
        self.inside[gone] = []
        for mine, theirs in ((self.before, self.after), (self.after, self.before)):
            for one, edges in mine[gone].items():
                theirs[one].pop(gone, None)
                if one != kept:
                    mine[kept][one] = mine[kept].get(one, 0) + edges
                    theirs[one][kept] = theirs[one].get(kept, 0) + edges
            mine[gone] = {}
            mine[kept].pop(gone, None)
        # The part ends later than either did, or must end sooner: all around it is told.
        self.start[kept] = self._start(kept)
        waiting = list(self.after[kept])
        heapq.heapify(waiting)
        while waiting:
            one = heapq.heappop(waiting)
            start = self._start(one)
            if start != self.start[one]:
                self.start[one] = start
                for other in self.after[one]:
                    heapq.heappush(waiting, other)
        self.due[kept] = self._due(kept)
        waiting = [-one for one in self.before[kept]]
        heapq.heapify(waiting)
        while waiting:
            one = -heapq.heappop(waiting)
            due = self._due(one)
            if due != self.due[one]:
                self.due[one] = due
                for other in self.before[one]:
                    heapq.heappush(waiting, -other)

    def _start(self, part: int) -> float:
        return max(map(self.end, self.before[part]), default=0.0)

    def _due(self, part: int) -> float:
        return min(
            (self.due[one] - self.takes[one] for one in self.after[part]), default=self.limit
        )
