"""Gives up what came first."""

from __future__ import annotations

import typing as t
from dataclasses import dataclass

from couler.caching.policy import CachePolicy, Knowledge


@dataclass(frozen=True)
class FirstInFirstOut(CachePolicy):
    """FIFO: what was admitted first goes first, however much it is used.

    One of the five that the Couler paper compares [1]_.

    References
    ----------
    .. [1] Couler, section VI-C1.
    """

    worths_only_rise: t.ClassVar[bool] = True

    def worth(self, key: str, known: Knowledge) -> float:
        """Return which admission it was."""
        return known.admitted(key)
