"""Where a range of blocks that is too large for a part is cut, and the pieces of ranges."""

from __future__ import annotations

import itertools
import math
import typing as t
from collections.abc import Sequence

from couler.optimizers.partitioning.blocks import Blocks
from couler.optimizers.partitioning.timing import Timing

HUB = 0.5
"""A block is a hub if its neighbours on one side take more than this share of a part."""

LOPSIDED = 0.5
"""Sides that differ by more than this share of the whole are worse than any that do not."""

LEAST_GAIN = 0.1
"""By what share of the whole the largest piece must get smaller, or the middle is cut."""


class Cutting(t.Protocol):
    """A way to cut ranges of blocks in two or more."""

    @property
    def label(self) -> Sequence[int]:
        """For each block a number, 0 and up, that rises along edges."""
        ...

    def cuts(self, among: Sequence[int], low: int, high: int) -> list[int]:
        """Return labels, `low < label < high`, each the first of a new range; at least one."""
        ...


class ByLevel:
    """Cuts between levels of the graph: at hubs, and where there are none, in the middle."""

    def __init__(self, blocks: Blocks, timing: Timing, *, is_balanced: bool) -> None:
        self.label = timing.level
        self._blocks = blocks
        self._is_balanced = is_balanced
        shares = blocks.shares
        self._gathers, self._spreads = (
            frozenset(
                block
                for block, found in enumerate(neighbours)
                if sum([shares[one] for one in found]) > HUB
            )
            for neighbours in (blocks.before, blocks.after)
        )
        """Which blocks are hubs, as long as all of their neighbours are in the range."""

    def cuts(self, among: Sequence[int], low: int, high: int) -> list[int]:
        """Return the levels to cut at."""
        label, shares = self.label, self._blocks.shares
        before, after = self._blocks.before, self._blocks.after
        found = set()
        # In a piece that is connected within the range, a neighbour in the range is in it.
        for block in self._gathers.intersection(among):
            if sum([shares[one] for one in before[block] if label[one] >= low]) > HUB:
                found.add(label[block])
        for block in self._spreads.intersection(among):
            if sum([shares[one] for one in after[block] if label[one] < high]) > HUB:
                found.add(label[block] + 1)
        found -= {low, high}
        if found:
            return sorted(found)
        if not self._is_balanced or high - low == 2:
            return [(low + high) // 2]
        loads = [0.0] * (high - low)
        for block in among:
            loads[label[block] - low] += shares[block]
        upto = list(itertools.accumulate(loads))
        return [low + 1 + _most_even(upto, [0.0] * len(upto))]


class ByWeight:
    """Cuts between levels of the graph where little crosses for how much smaller the pieces get."""

    def __init__(self, blocks: Blocks, timing: Timing) -> None:
        self.label = timing.level
        self._blocks = blocks

    def cuts(self, among: Sequence[int], low: int, high: int) -> list[int]:
        """Return the level to cut at: least weight across, by what the largest piece loses."""
        order = sorted(among, key=self.label.__getitem__)
        largest = list(
            map(
                max,
                self._largest(order, self._blocks.before, range(low, high - 1)),
                reversed(self._largest(order[::-1], self._blocks.after, range(high - 1, low, -1))),
            )
        )
        total = sum([self._blocks.shares[block] for block in among])
        best, least = (low + high) // 2, math.inf
        for place, across in enumerate(self._across(among, low, high)):
            gain = total - max(1.0, largest[place])  # a piece that fits need not be smaller
            if gain > LEAST_GAIN * total and across / gain < least:
                best, least = low + 1 + place, across / gain
        return [best]

    def _across(self, among: Sequence[int], low: int, high: int) -> list[float]:
        """Return the weight of the edges that a cut before each label but the first crosses."""
        label, blocks = self.label, self._blocks
        steps = [0.0] * (high - low + 1)
        for block in among:
            befores = zip(blocks.before[block], blocks.before_weights[block], strict=True)
            for one, weight in befores:
                if label[one] >= low:
                    steps[label[one] - low] += weight
                    steps[label[block] - low] -= weight
        return list(itertools.accumulate(steps[: high - low - 1]))

    def _largest(
        self, order: Sequence[int], neighbours: Sequence[Sequence[int]], labels: range
    ) -> list[float]:
        """Return how large the largest connected piece is of all blocks up to each label."""
        label, shares = self.label, self._blocks.shares
        parent: dict[int, int] = {}
        size: dict[int, float] = {}

        def root(block: int) -> int:
            while parent[block] != block:
                parent[block] = parent[parent[block]]
                block = parent[block]
            return block

        found = []
        most, place = 0.0, 0
        for upto in labels:
            while place < len(order) and (label[order[place]] - upto) * labels.step <= 0:
                block = order[place]
                place += 1
                parent[block], size[block] = block, shares[block]
                for one in neighbours[block]:
                    if one in parent:
                        here, there = root(block), root(one)
                        if here != there:
                            small, large = sorted((here, there), key=size.__getitem__)
                            parent[small] = large
                            size[large] += size.pop(small)
                most = max(most, size[root(block)])
            found.append(most)
        return found


class ByTime:
    """Cuts between the times at which blocks end, where that delays the longest path least."""

    def __init__(self, blocks: Blocks, timing: Timing) -> None:
        self.label = timing.rank
        self._blocks = blocks
        self._timing = timing

    def cuts(self, among: Sequence[int], low: int, high: int) -> list[int]:
        """Return the rank to cut at."""
        order = sorted(among, key=self.label.__getitem__)
        due, end, seconds = self._timing.due, self._timing.end, self._blocks.seconds
        latest = [due[block] - seconds[block] for block in order]
        soonest = list(itertools.accumulate(reversed(latest), min))[::-1]
        late = [
            max(0.0, end[block] - soon) for block, soon in zip(order, soonest[1:], strict=False)
        ]
        upto = list(itertools.accumulate(self._blocks.shares[block] for block in order))
        return [self.label[order[1 + _most_even(upto, [*late, 0.0])]]]


def _most_even(upto: Sequence[float], late: Sequence[float]) -> int:
    """Return the index after which to cut, of all but the last."""
    total = upto[-1] or 1.0
    best = (len(upto) - 2) // 2
    least: tuple[float, ...] = (math.inf,)
    for index in range(len(upto) - 1):
        lower, upper = upto[index], total - upto[index]
        off = abs(lower - upper) / total
        parts = math.ceil(lower - 1e-9) + math.ceil(upper - 1e-9)
        key = (off > LOPSIDED, parts, late[index], off)
        if key < least:
            best, least = index, key
    return best


Range: t.TypeAlias = tuple[list[int], int, int]
"""Blocks with the first of their labels and the one after the last."""

_Key: t.TypeAlias = tuple[tuple[int, ...], int, int]


class Ranges:
    """What a way to cut makes of ranges of labels, whatever the slack is."""

    def __init__(self, blocks: Blocks, cutting: Cutting) -> None:
        self._blocks = blocks
        self._cutting = cutting
        self._seen = [0] * len(blocks.before)
        self._round = 0
        self._pieces: dict[_Key, list[tuple[list[int], int | None]]] = {}
        self._cuts: dict[_Key, list[Range]] = {}

    @property
    def end(self) -> int:
        """The first label that no block has."""
        return max(self._cutting.label, default=-1) + 1

    def pieces(
        self, among: Sequence[int], low: int, high: int
    ) -> Sequence[tuple[list[int], int | None]]:
        """Return the weakly connected pieces of a range, each with its packed cost."""
        key = tuple(among), low, high
        if key not in self._pieces:
            budget = self._blocks.budget
            found: list[tuple[list[int], int | None]] = []
            for piece in self._connected(among, low, high):
                cost = self._blocks.load(piece)
                found.append((piece, cost if budget.fits(budget.part + cost) else None))
            self._pieces[key] = found
        return self._pieces[key]

    def cut(self, among: Sequence[int], low: int, high: int) -> Sequence[Range]:
        """Return the narrower ranges that a range is cut into, without those of no blocks."""
        key = tuple(among), low, high
        if key not in self._cuts:
            label = self._cutting.label
            ends = [low, *self._cutting.cuts(among, low, high), high]
            bands = range(len(ends) - 1)
            band_of = [band for band in bands for _ in range(ends[band], ends[band + 1])]
            inside: list[list[int]] = [[] for _ in bands]
            for block in among:
                inside[band_of[label[block] - low]].append(block)
            self._cuts[key] = [
                (inside[band], ends[band], ends[band + 1]) for band in bands if inside[band]
            ]
        return self._cuts[key]

    def _connected(self, among: Sequence[int], low: int, high: int) -> list[list[int]]:
        if high - low == 1:
            return [[block] for block in among]
        before, after, seen = self._blocks.before, self._blocks.after, self._seen
        label = self._cutting.label
        self._round += 1
        pieces = []
        for first in among:
            if seen[first] == self._round:
                continue
            seen[first] = self._round
            piece = [first]
            for block in piece:  # grows while it is read
                for one in before[block]:
                    if label[one] >= low and seen[one] != self._round:
                        seen[one] = self._round
                        piece.append(one)
                for one in after[block]:
                    if label[one] < high and seen[one] != self._round:
                        seen[one] = self._round
                        piece.append(one)
            piece.sort()
            pieces.append(piece)
        return pieces
