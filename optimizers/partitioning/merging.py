"""Fewer parts and cut edges: merging parts, and moving blocks between them."""

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


PASSES = 4
"""How often blocks whose neighbours have moved are looked at again."""


# J. Herrmann et al.: Multilevel algorithms for acyclic partitioning of directed acyclic graphs,
# SIAM J. Sci. Comput. 41(4) (2019), section 4.3.
class Refining:
    """Moves of single blocks, as in the method of Fiduccia and Mattheyses, that keep an order."""

    def __init__(self, blocks: Blocks, parts: Sequence[Sequence[int]], makespan: float) -> None:
        self.part_of = [0] * len(blocks.before)
        """The part of each block; some parts may have lost all of theirs."""
        for part, inside in enumerate(parts):
            for block in inside:
                self.part_of[block] = part
        self._blocks = blocks
        frame = Merging(blocks, self.part_of, len(parts), makespan)
        self._load = frame.load
        self._done = frame.done
        self._start = frame.start
        self._end = [frame.end(part) for part in range(len(parts))]
        self._cap = [
            min((frame.start[one] for one in after), default=frame.limit) for after in frame.after
        ]

    def run(self) -> None:
        """Move blocks as long as that cuts less; O(n + m) for each pass."""
        before, after, part_of = self._blocks.before, self._blocks.after, self.part_of
        queue: Sequence[int] = range(len(self.part_of))
        for _ in range(PASSES):
            moved: set[int] = set()
            for block in queue:
                here = part_of[block]
                # Most blocks are in the middle of their part.
                for one in before[block]:
                    if part_of[one] != here:
                        break
                else:
                    for one in after[block]:
                        if part_of[one] != here:
                            break
                    else:
                        continue
                if self._moves(block):
                    moved.update(before[block], after[block])
            queue = sorted(moved)

    def parts(self) -> list[list[int]]:
        """Return the blocks of each part that has some, in the order of the parts."""
        found: list[list[int]] = [[] for _ in self._load]
        for block, part in enumerate(self.part_of):
            found[part].append(block)
        return [inside for inside in found if inside]

    def _moves(self, block: int) -> bool:
        blocks, part_of = self._blocks, self.part_of
        here = part_of[block]
        befores = [part_of[one] for one in blocks.before[block]]
        afters = [part_of[one] for one in blocks.after[block]]
        low = max(befores, default=here)
        high = min(afters, default=here)
        near = to_low = to_high = 0.0
        for part, weight in zip(befores, blocks.before_weights[block], strict=True):
            if part == here:
                near += weight
            elif part == low:
                to_low += weight
        for part, weight in zip(afters, blocks.after_weights[block], strict=True):
            if part == here:
                near += weight
            elif part == high:
                to_high += weight
        for there, weight in ((low, to_low), (high, to_high)):
            if weight <= near:
                continue
            if self._fits(block, here, there) and self._place(block, there):
                return True
        return False

    def _fits(self, block: int, here: int, there: int) -> bool:
        """Return whether both parts keep the budget, and if so, count the block there."""
        blocks, budget = self._blocks, self._blocks.budget
        more = self._load[there] + blocks.costs[block]
        if not budget.fits(more):
            return False
        less = self._load[here] - blocks.own[block]
        if budget.cut:
            # What read the block in its part, and what it read there, now crosses.
            left = sum(self.part_of[one] == here for one in blocks.before[block])
            left += len(blocks.members[block])
            less += budget.cut * left
            if not budget.fits(less):
                return False
        self._pending = more, less
        return True

    def _place(self, block: int, there: int) -> bool:
        """Move a block if no time is lost, and return whether it moved."""
        blocks, part_of, start, end = self._blocks, self.part_of, self._start, self._end
        began = 0.0
        for one in blocks.before[block]:
            part = part_of[one]
            if part == there:
                began = max(began, self._done[one])
            elif end[part] > start[there]:
                return False
        done = began + blocks.seconds[block]
        cap = self._cap[there]
        for one in blocks.after[block]:
            part = part_of[one]
            if part != there:
                cap = min(cap, start[part])
            elif self._done[one] - blocks.seconds[one] < done:
                return False
        ends = max(end[there], start[there] + done)
        if ends > cap:
            return False
        for one in blocks.before[block]:
            part = part_of[one]
            if part != there:
                self._cap[part] = min(self._cap[part], start[there])
        here = part_of[block]
        self._cap[there], end[there], self._done[block] = cap, ends, done
        self._load[there], self._load[here] = self._pending
        part_of[block] = there
        return True
