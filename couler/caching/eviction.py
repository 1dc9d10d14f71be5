"""What goes for lack of room: the least worth until enough is free, and nothing that is not needed.

All that keeps artifacts within a number of bytes chooses by this: a cache in memory, the local
engine's entries, and those of an engine elsewhere.

What is worth least goes first, one after the other, until enough is free. The last that goes may
free much more than is missing, so that some of those before need not go: from the dearest on,
whatever is not needed stays. Of artifacts of 400 and 600 bytes, where 500 are missing, 600 alone
goes. This is the greedy method for covering knapsacks, with its reverse deletion [1]_.

Who compares a newcomer with what would go for it compares worths as the policy tells them, one by
one. A worth may be a density (seconds for each byte), a count or a time, so that a sum of them
means nothing for most policies. That what goes is larger than the newcomer is not counted against
it, either: what is left free is there for the next ones. What goes last is the dearest of all that
go, and is always needed; so what stays after all never changes who wins.

References
----------
.. [1] R. D. Carr, L. K. Fleischer, V. J. Leung and C. A. Phillips, "Strengthening integrality gaps
   for capacitated network design and covering problems", SODA 2000.
"""

from __future__ import annotations

import heapq
import typing as t
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass

__all__ = ["Candidate", "Shortage", "least_first", "spare_unneeded", "take_least"]


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
