"""Bands, which are connected pieces packed by when they can run, and the best of several."""

from __future__ import annotations

import itertools
from dataclasses import dataclass

from couler.optimizers.partitioning.blocks import Blocks
from couler.optimizers.partitioning.cutting import ByLevel, ByTime, ByWeight, Cutting, Ranges
from couler.optimizers.partitioning.merging import Merging, Refining
from couler.optimizers.partitioning.timing import Timing

SLACK = 0.1
"""By what share of the makespan of the whole graph barriers may delay a run, unless said."""

SHARES, SHARES_LARGE = (0.1, 0.5, 1.0, 2.0), (1.0,)
"""With what shares of that slack bands are made; what then exceeds the slack is left out."""

SMALL, LARGE = 3_000, 30_000
"""Up to how many blocks all ways are carried out to the end, and some are."""

ROUNDS, ROUNDS_LARGE = 4, 2
"""How often parts are merged and refined at most."""


def by_bands(blocks: Blocks, slack: float = SLACK) -> list[list[int]]:
    """Return parts in a topological order of their quotient."""
    timing = Timing(blocks)
    count = len(blocks.before)
    cuttings: tuple[Cutting, ...] = (
        ByLevel(blocks, timing, is_balanced=False),
        ByLevel(blocks, timing, is_balanced=True),
        ByTime(blocks, timing),
    )
    if count <= SMALL:
        cuttings += (ByWeight(blocks, timing),)
    limit = (1 + slack) * timing.makespan
    slacks = [share * slack for share in (SHARES if count <= LARGE else SHARES_LARGE)]
    ranges = [Ranges(blocks, cutting) for cutting in cuttings]
    found = []
    known: set[tuple[float, tuple[int, ...]]] = set()
    for number, (share, ranged) in enumerate(itertools.product(slacks, ranges)):
        bands = Bands(blocks, timing, ranged, share)
        if share > slack and max(bands.ends) > limit:
            continue
        made = min(share, slack), tuple(bands.part_of)
        if made in known:  # regular graphs fall apart in the same way again and again
            continue
        known.add(made)
        loss = _loss(blocks, timing, bands.part_of, len(bands.ends), max(bands.ends))
        found.append((loss, number, share, bands.part_of, len(bands.ends)))
    found.sort()
    most = len(found) if count <= SMALL else 2 if count <= LARGE else 1
    polished = [
        (_polished(blocks, timing, part_of, parts, min(share, slack)), number)
        for _, number, share, part_of, parts in found[:most]
    ]
    return min(polished, key=lambda one: (one[0][0], one[1]))[0][1]


def _polished(
    blocks: Blocks, timing: Timing, part_of: list[int], count: int, slack: float
) -> tuple[float, list[list[int]]]:
    """Return the loss, and the parts, after merging and refining."""
    limit = (1 + slack) * timing.makespan
    for _ in range(ROUNDS if len(part_of) <= LARGE else ROUNDS_LARGE):
        merging = Merging(blocks, part_of, count, limit)
        merging.merge_all()
        refining = Refining(blocks, merging.parts(), limit)
        refining.run()
        parts = refining.parts()
        was = count
        count = len(parts)
        for part, inside in enumerate(parts):
            for block in inside:
                part_of[block] = part
        if was == count:
            break
    last = Merging(blocks, part_of, count, 0.0)
    return _loss(blocks, timing, part_of, count, last.makespan), last.parts()


def _loss(blocks: Blocks, timing: Timing, part_of: list[int], count: int, makespan: float) -> float:
    cut = 0.0
    for part, befores, weights in zip(part_of, blocks.before, blocks.before_weights, strict=True):
        for one, weight in zip(befores, weights, strict=True):
            if part_of[one] != part:
                cut += weight
    late = makespan / timing.makespan - 1 if timing.makespan else 0.0
    least = max(1, blocks.budget.least_parts(blocks.own))
    return cut / (blocks.weight or 1.0) + count / least - 1 + 8 * late


OPEN = 16
"""How many parts that are not full a piece is tried with: more cost time and gain little."""


@dataclass(slots=True, eq=False)
class _Piece:
    """Blocks that share a part, and when that runs."""

    blocks: list[int]
    cost: int
    """Cost of the blocks, packed into one number."""
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
