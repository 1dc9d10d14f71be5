"""A cache policy that keeps many small artifacts rather than few large ones."""

from __future__ import annotations

import typing as t
from dataclasses import dataclass

from couler.caching.policy import Knowledge


@dataclass(frozen=True)
class KeepSmall:
    """What is largest goes first.

    Attributes
    ----------
    most_bytes
        What is larger is refused.
    """

    worths_only_rise: t.ClassVar[bool] = True
    most_bytes: int = 1 << 40

    def admit(self, key: str, known: Knowledge) -> str | None:
        """Refuse what is too large."""
        return "is too large" if known.size_bytes(key) > self.most_bytes else None

    def on_access(self, key: str, known: Knowledge) -> float:
        """Remember nothing."""
        return 0.0

    def worth(self, key: str, known: Knowledge) -> float:
        """Return less for what is larger."""
        return -known.size_bytes(key)
