"""Keeps what is most important by Eq. 6 of the Couler paper, as printed and mended."""

from __future__ import annotations

import math
import typing as t
from dataclasses import dataclass

from couler.caching.importance import ALPHA, BETA, Reading, caching_cost, importance
from couler.caching.policy import CachePolicy, Knowledge


@dataclass(frozen=True)
class ImportanceRepaired(CachePolicy):
    """The caching importance factor (Couler, Eq. 6), with the slips of its equations mended.

    What has least of it goes first, the newcomer included (Algorithm 2).

    Attributes
    ----------
    alpha
        Weight of what making an artifact again would take.
    beta
        Weight of how much is still to come that depends on it.

    Raises
    ------
    ValueError
        A weight is negative, or no number.
    """

    worths_only_rise: t.ClassVar[bool] = True
    reading: t.ClassVar[Reading] = "repaired"
    alpha: float = ALPHA
    beta: float = BETA

    def __post_init__(self) -> None:
        """Check the ranges."""
        for name in ("alpha", "beta"):
            weight = getattr(self, name)
            if not 0 <= weight < math.inf:
                raise ValueError(f"{name}={weight}: must be a number, and not negative")

    def worth(self, key: str, known: Knowledge) -> float:
        """Return the importance factor."""
        reading = self.reading
        return importance(
            known.reconstruction(key, reading),
            known.reuse(key, reading),
            caching_cost(known.size_bytes(key), max(known.capacity_bytes, 1), reading=reading),
            reading=reading,
            alpha=self.alpha,
            beta=self.beta,
        )


@dataclass(frozen=True)
class ImportanceAsPrinted(ImportanceRepaired):
    """The caching importance factor (Couler, Eq. 6), as printed.

    To compare with: it leaves out readers that read an artifact itself, and sizes of more than a
    few bytes.

    Attributes
    ----------
    alpha
        Weight of what making an artifact again would take.
    beta
        Weight of how much is still to come that depends on it.
    """

    reading: t.ClassVar[Reading] = "paper"
