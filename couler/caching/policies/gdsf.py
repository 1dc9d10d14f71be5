"""Keeps what was used often, costs much and is small, and forgets with time."""

from __future__ import annotations

import typing as t
from dataclasses import dataclass

from couler.caching.policy import CachePolicy, Knowledge


@dataclass(frozen=True)
class GreedyDualSizeFrequency(CachePolicy):
    r"""GDSF [1]_: the best of those that know the past alone.

    At each use of u,

    .. math:: worth(u) = age + uses(u) \cdot \frac{cost(u)}{size(u)}

    where the age is the worth of what was evicted last, so that what is not used any more
    goes at last, however often it was.

    Notes
    -----
    The cost is that of the moment of the use, in seconds; the size is in bytes.

    References
    ----------
    .. [1] L. Cherkasova, "Improving WWW proxies performance with Greedy-Dual-Size-Frequency caching
       policy", HP Laboratories technical report HPL-98-69R1, 1998.
    """

    worths_only_rise: t.ClassVar[bool] = True

    def on_access(self, key: str, known: Knowledge) -> float:
        """Return the worth until the next use."""
        density = known.cost_s(key) / max(known.size_bytes(key), 1)
        return known.age + known.uses(key) * density

    def worth(self, key: str, known: Knowledge) -> float:
        """Return what it was worth at its last use."""
        return known.credit(key)
