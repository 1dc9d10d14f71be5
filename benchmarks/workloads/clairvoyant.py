"""Policies for a cache that knows the order in which jobs will start: points to compare with.

They are told it as the distance to the next reader, so they are what they say only where the true
seconds are told and reads hold nothing up.
"""

from __future__ import annotations

import typing as t
from dataclasses import dataclass

from couler.caching.policy import CachePolicy, Knowledge


@dataclass(frozen=True)
class Belady(CachePolicy):
    """Gives up what is read last from now on; best of all if sizes and costs were equal."""

    by_size: bool = False
    """Whether what is large goes as what is read late does: size times distance."""

    worths_only_rise: t.ClassVar[bool] = True

    def admit(self, key: str, known: Knowledge) -> str | None:
        """Refuse what nobody reads any more."""
        return None if known.readers_left(key) else "has no reader left"

    def worth(self, key: str, known: Knowledge) -> float:
        """Return more for what is read sooner."""
        distance = known.distance(key)
        if distance is None:
            return 0.0
        return 1 / (distance * (max(known.size_bytes(key), 1) if self.by_size else 1))
