"""What is evicted for lack of room: the least worth until enough is free, and no more."""
# R. D. Carr, L. K. Fleischer, V. J. Leung and C. A. Phillips, "Strengthening integrality gaps for
# capacitated network design and covering problems", SODA 2000.

from __future__ import annotations

import heapq
import math
import typing as t
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass

LEFT_SHARE = 0.5
"""What a byte that is left free counts, to one of the newcomer's."""


class Candidate(t.NamedTuple):
    """What may go, in the order in which it does."""

    worth: float
    last_used: int
    key: str
    size_bytes: int


@dataclass(frozen=True, slots=True)
class Shortage:
    """How much has to be freed, and by what."""

    bytes: int
    keys: Collection[str] | None = None

    def freed_by(self, candidate: Candidate) -> int:
        """Return how much of it is freed by what goes."""
        counts = self.keys is None or candidate.key in self.keys
        return candidate.size_bytes if counts else 0


def least_first(candidates: Iterable[Candidate]) -> Iterator[Candidate]:
    """Yield candidates in the order in which they go; O(n), and O(log n) for each that is taken."""
    heap = list(candidates)
    heapq.heapify(heap)
    while heap:
        yield heapq.heappop(heap)


def take_least(candidates: Iterable[Candidate], missing_bytes: int) -> list[Candidate]:
    """Return the first candidates that free so much together; all of them if that is less."""
    taken: list[Candidate] = []
    if missing_bytes <= 0:
        return taken
    for candidate in candidates:
        taken.append(candidate)
        missing_bytes -= candidate.size_bytes
        if missing_bytes <= 0:
            break
    return taken


def spare_unneeded(
    taken: Sequence[Candidate], *shortages: Shortage
) -> tuple[list[Candidate], list[Candidate]]:
    """Divide what was taken into what has to go, and what may stay after all."""
    surplus = [sum(map(one.freed_by, taken)) - max(0, one.bytes) for one in shortages]
    needed: list[Candidate] = []
    spared: list[Candidate] = []
    for candidate in reversed(taken):
        freed = [one.freed_by(candidate) for one in shortages]
        if all(less <= more or not less for less, more in zip(freed, surplus, strict=True)):
            surplus = [more - less for less, more in zip(freed, surplus, strict=True)]
            spared.append(candidate)
        else:
            needed.append(candidate)
    return needed[::-1], spared


def are_densities(policy: object) -> bool:
    """Return whether a policy says that its worths are densities, seconds for each byte."""
    return bool(getattr(policy, "worths_are_densities", False))


def take(
    candidates: Iterable[Candidate], missing_bytes: int, *, are_densities: bool
) -> list[Candidate]:
    """Return what goes of all that may: the cheapest by densities, else what is worth least."""
    if are_densities:
        return take_cheapest(candidates, missing_bytes)
    return take_least(least_first(candidates), missing_bytes)


def take_cheapest(candidates: Iterable[Candidate], missing_bytes: int) -> list[Candidate]:
    r"""Candidates that free so much together, and lose little; all of them if that is less."""
    by_density = list(candidates)
    heapq.heapify(by_density)
    by_loss: list[tuple[float, Candidate]] = []  # those that are larger than what is missing
    taken: list[Candidate] = []
    while missing_bytes > 0 and (by_density or by_loss):
        # Others that are larger lose no less for each missing byte than the first of the rest.
        while by_density and by_density[0].size_bytes > missing_bytes:
            large = heapq.heappop(by_density)
            heapq.heappush(by_loss, (large.worth * large.size_bytes, large))
        small = by_density[0][:2] if by_density else (math.inf, 0)
        if by_loss and (by_loss[0][0] / missing_bytes, by_loss[0][1].last_used) < small:
            goes = heapq.heappop(by_loss)[1]
        else:
            goes = heapq.heappop(by_density)
        taken.append(goes)
        missing_bytes -= goes.size_bytes
    return taken


def is_outweighed(
    newcomer: Candidate,
    gone: Sequence[Candidate],
    *shortages: Shortage,
    are_densities: bool = False,
) -> bool:
    r"""Return whether what would go for a newcomer is worth more than it."""
    if not gone:
        return False
    if not are_densities:
        return max(gone)[:2] > newcomer[:2]
    left = min(sum(map(one.freed_by, gone)) - one.bytes for one in shortages)
    lost_s = sum(one.worth * one.size_bytes for one in gone)
    return lost_s > newcomer.worth * (newcomer.size_bytes + LEFT_SHARE * left)
