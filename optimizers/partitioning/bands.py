"""Bands: the connected pieces of a range of labels, packed by when they can run."""

from __future__ import annotations

from dataclasses import dataclass

from couler.optimizers.partitioning.blocks import Blocks
from couler.optimizers.partitioning.ranges import Ranges
from couler.optimizers.partitioning.timing import Timing

OPEN = 16
"""How many parts that are not full a piece is tried with: more cost time and gain little."""


@dataclass(slots=True, eq=False)
class _Piece:
    """Blocks that share a part, and when that runs."""

    blocks: list[int]
    cost: int
    """Packed cost."""
    start: float
    """When all parts before it have ended, in seconds from the start of the run."""
    takes: float
    due: float
    """When it must have ended, so that the run ends at its makespan."""
    late: float
    """By how much it ends after that; below 0 if before."""
    part: int = -1
    """Number of the part that it has begun."""


class Bands:
    """Parts from bands, for one way to cut them."""

    def __init__(self, blocks: Blocks, timing: Timing, ranges: Ranges, slack: float) -> None:
        self._budget = blocks.budget
        self._timing = timing
        self._ranges = ranges
        self._slack = slack
        self._least = blocks.budget.least(blocks.own)
        self.part_of = [-1] * len(blocks.before)
        self.ends: list[float] = []
        self._fill(list(range(len(blocks.before))), 0, ranges.end)

    def _fill(self, among: list[int], first: int, end: int) -> None:
        """Put the blocks of a range of labels into parts."""
        ranges = [(among, first, end)] * bool(among)
        while ranges:  # in a topological order, so that all parts before a range are known
            inside, low, high = ranges.pop()
            whole: list[_Piece] = []
            large: list[int] = []
            for blocks, cost in self._ranges.pieces(inside, low, high):
                piece = None if cost is None else self._piece(blocks, cost)
                if piece is None:
                    large += blocks
                else:
                    whole.append(piece)
            self._pack(whole)
            if large:
                ranges += reversed(self._ranges.cut(large, low, high))

    def _piece(self, blocks: list[int], cost: int) -> _Piece | None:
        """Return a piece with its times, or nothing where it would make the run late."""
        start, takes, due = self._timing.window(blocks, self.part_of, self.ends)
        late = start + takes - due
        if late > self._slack * due and len(blocks) > 1:
            return None
        return _Piece(blocks, cost, start, takes, due, late)

    def _pack(self, pieces: list[_Piece]) -> None:
        """Put pieces that do not depend on each other into new parts, first fit."""
        pieces.sort(key=lambda piece: (piece.due - piece.takes, piece.start, piece.blocks[0]))
        opened: list[_Piece] = []
        made: list[_Piece] = []
        for piece in pieces:
            part = next((part for part in opened if self._joins(part, piece)), piece)
            if part is piece:
                part.part = len(self.ends) + len(made)
                part.cost += self._budget.part
                made.append(part)
                opened.append(part)
                if len(opened) > OPEN:
                    opened.pop(0)
            elif not self._budget.fits(part.cost + self._least):
                opened.remove(part)
            for block in piece.blocks:
                self.part_of[block] = part.part
        self.ends += [part.start + part.takes for part in made]

    def _joins(self, part: _Piece, piece: _Piece) -> bool:
        """Put a piece into a part, and return whether it went in."""
        cost = part.cost + piece.cost
        if not self._budget.fits(cost):
            return False
        # Written out, as this is asked for most pieces more than ten times.
        start = part.start if part.start > piece.start else piece.start
        takes = part.takes if part.takes > piece.takes else piece.takes
        due = part.due if part.due < piece.due else piece.due
        late = start + takes - due
        if late > self._slack * due and late > part.late and late > piece.late:
            return False
        part.cost, part.start, part.takes, part.due, part.late = cost, start, takes, due, late
        return True
