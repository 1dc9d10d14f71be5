"""Keeps nothing."""

from __future__ import annotations

import typing as t
from dataclasses import dataclass

from couler.caching.policy import CachePolicy, Knowledge


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
