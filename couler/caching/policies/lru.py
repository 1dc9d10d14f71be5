"""Keeps what was used last."""

from __future__ import annotations

import typing as t
from dataclasses import dataclass

from couler.caching.policy import CachePolicy, Knowledge


@dataclass(frozen=True)
class LeastRecentlyUsed(CachePolicy):
    """LRU: what was used longest ago goes first, whatever its size and cost.

    One of the five that the Couler paper compares [1]_.

    References
    ----------
    .. [1] Couler, section VI-C1.
    """

    worths_only_rise: t.ClassVar[bool] = True

    def worth(self, key: str, known: Knowledge) -> float:
        """Return which use was its last."""
        return known.last_used(key)
