"""Keeps all, as long as there is room."""

from __future__ import annotations

import typing as t
from dataclasses import dataclass

from couler.caching.policy import CachePolicy, Knowledge


@dataclass(frozen=True)
class KeepAll(CachePolicy):
    """Keeps whatever fits, and gives up nothing for what comes later.

    The paper's ALL [1]_ has room for everything. With a budget it can only mean this: what comes
    first stays, and once there is no room for it, a newcomer is refused. If the budget is made
    smaller, what came last goes first.

    References
    ----------
    .. [1] Couler, section VI-C1: "caching of all data and intermediate results".
    """

    worths_only_rise: t.ClassVar[bool] = True

    def worth(self, key: str, known: Knowledge) -> float:
        """Return more for what was there before: a newcomer is worth least."""
        return -known.admitted(key)
