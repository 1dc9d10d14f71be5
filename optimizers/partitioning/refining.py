"""Fewer cut edges: moving blocks between parts, without a circle and without losing time."""

from __future__ import annotations

from collections.abc import Sequence

from couler.optimizers.partitioning.blocks import Blocks
from couler.optimizers.partitioning.merging import Merging

PASSES = 4
"""How often blocks whose neighbours have moved are looked at again."""


class Refining:
    """Moves of single blocks, as in the method of Fiduccia and Mattheyses, that keep an order."""

    # J. Herrmann et al.: Multilevel algorithms for acyclic partitioning of directed acyclic graphs,
    # SIAM J. Sci. Comput. 41(4) (2019), section 4.3.

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
