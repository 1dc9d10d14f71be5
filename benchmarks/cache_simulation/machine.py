"""What a simulated run has to work with: workers, and two stores."""

from __future__ import annotations

import math
import typing as t
from dataclasses import dataclass

Misses: t.TypeAlias = t.Literal["reread", "recompute"]


@dataclass(frozen=True)
class Storage:
    """How fast a store is, for each of the steps that use it; they do not slow each other down."""

    latency_s: float = 0.0
    read_bytes_per_s: float = math.inf
    write_bytes_per_s: float = math.inf

    def __post_init__(self) -> None:
        """Check the ranges."""
        if not self.latency_s >= 0:
            raise ValueError(f"latency_s: {self.latency_s} is below 0")
        for what in ("read_bytes_per_s", "write_bytes_per_s"):
            if not getattr(self, what) > 0:
                raise ValueError(f"{what}: {getattr(self, what)} is not above 0")

    def read_s(self, size_bytes: int) -> float:
        """Return the seconds of reading one artifact."""
        return self.latency_s + size_bytes / self.read_bytes_per_s

    def write_s(self, size_bytes: int) -> float:
        """Return the seconds of writing one artifact."""
        return self.latency_s + size_bytes / self.write_bytes_per_s


@dataclass(frozen=True)
class Machine:
    """Workers and stores."""

    workers: int = 8
    remote: Storage = Storage(0.5, 100e6, 100e6)
    cache: Storage = Storage()
    misses: Misses = "reread"
    waits: bool = True

    def __post_init__(self) -> None:
        """Check the ranges."""
        if self.workers < 1:
            raise ValueError(f"workers: {self.workers} is less than 1")
        if self.misses not in t.get_args(Misses):
            raise ValueError(f"misses: {self.misses!r} is neither reread nor recompute")
