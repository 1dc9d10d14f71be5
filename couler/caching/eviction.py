"""What goes for lack of room: the least worth until enough is free, and nothing that is not needed.

All that keeps artifacts within a number of bytes chooses by this: a cache in memory, the local
engine's entries, and those of an engine elsewhere.

What is worth least goes first, one after the other, until enough is free. The last that goes may
free much more than is missing, so that some of those before need not go: from the dearest on,
whatever is not needed stays. Of artifacts of 400 and 600 bytes, where 500 are missing, 600 alone
goes.

That looks at no more than it has to, and is the greedy method for filling a knapsack with its
reverse deletion: what is left over of the last that goes counts nothing. Who looks at all that is
kept anyway counts of each only what is missing (`take_cheapest`), the greedy method for covering
knapsacks [1]_: then something small does not push out something large where another small one will
do.

A newcomer is compared with what would go for it, like with like (`is_outweighed`). A worth may be a
time or a count, which cannot be added: then it is compared with each one, and the dearest of all
that go decides. A policy whose worths are densities, seconds for each
byte, says so: `worths_are_densities = True`. Then the savings of all that go are compared together
with that of the newcomer and of half the bytes that are left free: these are there for what
comes next, of which nobody knows how much it is worth.

References
----------
.. [1] R. D. Carr, L. K. Fleischer, V. J. Leung and C. A. Phillips, "Strengthening integrality gaps
   for capacitated network design and covering problems", SODA 2000.
"""

from __future__ import annotations

import heapq
import math
import typing as t
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass

__all__ = [
    "Candidate",
    "Shortage",
    "are_densities",
    "is_outweighed",
    "least_first",
    "spare_unneeded",
    "take",
    "take_cheapest",
    "take_least",
]

LEFT_SHARE = 0.5
"""What a byte that is left free counts, to one of the newcomer's."""


class Candidate(t.NamedTuple):
    """What may go, in the order in which it does.

    Attributes
    ----------
    worth
        What keeping it is worth to the policy.
    last_used
        Which use was its last: of equal worths, what was used longest ago goes first.
    key
        Its name; what is equal else goes in the order of names.
    size_bytes
        What its going frees.
    """

    worth: float
    last_used: int
    key: str
    size_bytes: int


@dataclass(frozen=True, slots=True)
class Shortage:
    """How much has to be freed, and by what.

    Attributes
    ----------
    bytes
        How much; nothing if it is 0 or less.
    keys
        What frees it by going; None for whatever there is.
    """

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
    """Return the first candidates that free so much together; all of them if that is less.

    No more of them are looked at than are returned.

    Examples
    --------
    >>> small, large = Candidate(1.0, 1, "small", 400), Candidate(2.0, 2, "large", 600)
    >>> taken = take_least(least_first([large, small]), 500)
    >>> [one.key for one in taken]
    ['small', 'large']
    >>> needed, spared = spare_unneeded(taken, Shortage(500))
    >>> [one.key for one in needed], [one.key for one in spared]
    (['large'], ['small'])
    """
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
    """Divide what was taken into what has to go, and what may stay after all.

    Parameters
    ----------
    taken
        In the order in which it was taken.
    shortages
        All of them are to be ended. One that the whole does not end cannot be, and all that
        frees anything of it has to go.

    Returns
    -------
    tuple of list
        What goes, in the order in which it was taken; and what stays, the dearest first.

    Notes
    -----
    O(k) for k that were taken and each shortage. What goes is minimal: none of it could stay
    besides. It is not always of the least worth together, which is NP-hard to find.
    """
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
    r"""Return candidates that free so much together, and lose little; all of them if that is less.

    Parameters
    ----------
    candidates
        All that may go; worths are densities.
    missing_bytes
        How much is to be freed.

    Notes
    -----
    Of densities w and sizes s, with m bytes missing, that goes next for which

    .. math:: w_i s_i / \min\{s_i, m\}

    is least, of equals the one used longest ago: what it loses for each byte of those that are
    missing [1]_. Something large that is
    worth little for its size stays so where little is missing that something small can free.
    `spare_unneeded` has to follow. O(n log n) for n candidates.

    Examples
    --------
    >>> large, small = Candidate(1.0, 1, "large", 600), Candidate(2.0, 2, "small", 100)
    >>> [one.key for one in take_cheapest([large, small], 100)]
    ['small']
    >>> [one.key for one in take_cheapest([large, small], 400)]
    ['large']
    """
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


def _left_free(gone: Sequence[Candidate], shortages: Sequence[Shortage]) -> int:
    """Return how many bytes are left free once all shortages are ended."""
    return min(sum(map(one.freed_by, gone)) - one.bytes for one in shortages)


def is_outweighed(
    newcomer: Candidate,
    gone: Sequence[Candidate],
    *shortages: Shortage,
    are_densities: bool = False,
) -> bool:
    r"""Return whether what would go for a newcomer is worth more than it.

    Parameters
    ----------
    newcomer
        With its own worth, use and size.
    gone
        What would go.
    shortages
        What the newcomer is short of; what goes ends all of them.
    are_densities
        Whether worths are seconds for each byte, and not of another measure.

    Notes
    -----
    Of densities w and sizes s, with f bytes left free, the newcomer n is refused if

    .. math:: \sum_{i \in gone} w_i s_i > w_n (s_n + f / 2)

    Charged for all that goes (without f), each of many small newcomers would be refused for the
    sake of something large that all of them together outweigh. Charged for its own bytes alone
    (f in place of its half), one would drive out something large that it does not outweigh, and
    that nothing else might be worth.

    Examples
    --------
    >>> large = Candidate(1.0, 1, "large", 600)
    >>> missing = Shortage(100)
    >>> is_outweighed(Candidate(2.0, 2, "small", 100), [large], missing, are_densities=True)
    False
    >>> is_outweighed(Candidate(1.5, 2, "small", 100), [large], missing, are_densities=True)
    True
    >>> is_outweighed(Candidate(1.5, 2, "small", 100), [large], missing)
    False
    """
    if not gone:
        return False
    if not are_densities:
        return max(gone)[:2] > newcomer[:2]
    left = _left_free(gone, shortages)
    lost_s = sum(one.worth * one.size_bytes for one in gone)
    return lost_s > newcomer.worth * (newcomer.size_bytes + LEFT_SHARE * left)
