"""FIFO, LRU, and the policies that keep all or nothing."""

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


@dataclass(frozen=True)
class KeepNone(CachePolicy):
    """No caching: the paper's No, against which the others are compared (section VI-C1)."""

    worths_only_rise: t.ClassVar[bool] = True

    def admit(self, key: str, known: Knowledge) -> str | None:
        """Refuse everything."""
        return "nothing is kept: the policy is none"

    def worth(self, key: str, known: Knowledge) -> float:
        """Return 0; of what another policy has kept before, the longest unused goes first."""
        return 0.0
