"""The best of several ways to make bands."""

from __future__ import annotations

import itertools

from couler.optimizers.partitioning.bands import Bands
from couler.optimizers.partitioning.blocks import Blocks
from couler.optimizers.partitioning.cutting import ByLevel, ByTime, ByWeight, Cutting
from couler.optimizers.partitioning.merging import Merging
from couler.optimizers.partitioning.ranges import Ranges
from couler.optimizers.partitioning.refining import Refining
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
