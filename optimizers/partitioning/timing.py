"""When blocks run at the earliest, and when they must have ended at the latest."""

from __future__ import annotations

from collections.abc import Sequence

from couler.optimizers.partitioning.blocks import Blocks
from couler.optimizers.partitioning.orders import levels_of


class Timing:
    """Times of blocks on any number of workers, in seconds from the start; O(n log n + m)."""

    def __init__(self, blocks: Blocks) -> None:
        self._blocks = blocks
        seconds = blocks.seconds
        count = len(seconds)
        self.level = levels_of(blocks)
        self.end = [0.0] * count
        for block, befores in enumerate(blocks.before):
            began = max((self.end[one] for one in befores), default=0.0)
            self.end[block] = began + seconds[block]
        self.makespan = max(self.end, default=0.0)
        self.due = [self.makespan] * count
        for block in range(count - 1, -1, -1):
            latest = (self.due[one] - seconds[one] for one in blocks.after[block])
            self.due[block] = min(latest, default=self.makespan)
        order = sorted(range(count), key=lambda block: (self.end[block], self.level[block], block))
        self.rank = [0] * count
        for place, block in enumerate(order):
            self.rank[block] = place

    def window(
        self, piece: Sequence[int], part_of: Sequence[int], ends: Sequence[float]
    ) -> tuple[float, float, float]:
        """Return when the parts before a piece have ended, how long it takes, and its due end."""
        before, after, seconds = self._blocks.before, self._blocks.after, self._blocks.seconds
        if len(piece) == 1:
            block = piece[0]
            start = 0.0
            for one in before[block]:
                if ends[part_of[one]] > start:
                    start = ends[part_of[one]]
            return start, seconds[block], self.due[block]
        inside: dict[int, float] = {}
        start, due, dues = 0.0, self.makespan, self.due
        for block in piece:
            end = 0.0
            for one in before[block]:
                if one in inside:
                    if inside[one] > end:
                        end = inside[one]
                elif ends[part_of[one]] > start:
                    start = ends[part_of[one]]
            inside[block] = end + seconds[block]
        for block in piece:
            for one in after[block]:
                if one not in inside and dues[one] - seconds[one] < due:
                    due = dues[one] - seconds[one]
        return start, max(inside.values()), due


def longest_path(blocks: Blocks, inside: Sequence[int]) -> float:
    """Return how long the longest path within some blocks takes, in seconds."""
    end: dict[int, float] = {}
    for block in sorted(inside):
        began = max((end[one] for one in blocks.before[block] if one in end), default=0.0)
        end[block] = began + blocks.seconds[block]
    return max(end.values(), default=0.0)
