"""The pieces of ranges of labels, and how ranges are cut: kept, as several slacks ask for them."""

from __future__ import annotations

import typing as t
from collections.abc import Sequence

from couler.optimizers.partitioning.blocks import Blocks
from couler.optimizers.partitioning.cutting import Cutting

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
