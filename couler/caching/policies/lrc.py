"""Keeps what is still read most: LRC, by the count alone and by cost and size."""

from __future__ import annotations

import typing as t
from dataclasses import dataclass

from couler.caching.policy import CachePolicy, Knowledge


@dataclass(frozen=True)
class LeastReferenceCount(CachePolicy):
    """LRC [1]_: what fewest readers are left for goes first.

    The reference count of an artifact is the number of steps that read it and have not started.

    References
    ----------
    .. [1] Y. Yu, W. Wang, J. Zhang and K. Ben Letaief, "LRC: dependency-aware cache management for
       data analytics clusters", IEEE INFOCOM 2017.
    """

    worths_only_rise: t.ClassVar[bool] = True

    def worth(self, key: str, known: Knowledge) -> float:
        """Return how many reads are to come."""
        return known.readers_left(key)


@dataclass(frozen=True)
class LeastReferenceDensity(LeastReferenceCount):
    r"""LRC by what the reads save, for each byte.

    .. math:: worth(u) = readers(u) \cdot \frac{cost(u)}{size(u)}

    The count of LRC takes all blocks for equally large and dear, as those of one data set are;
    artifacts of a workflow are not.
    """

    worths_are_densities: t.ClassVar[bool] = True

    def worth(self, key: str, known: Knowledge) -> float:
        """Return the seconds that all reads to come would save together, for each byte."""
        density = known.cost_s(key) / max(known.size_bytes(key), 1)
        return known.readers_left(key) * density
