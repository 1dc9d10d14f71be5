"""What a simulated run did, and figures of it."""

from __future__ import annotations

import typing as t
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import accumulate

Phase: t.TypeAlias = t.Literal["read", "remake", "compute", "write"]


@dataclass(frozen=True, slots=True)
class Span:
    """What a step did for some time."""

    job: int
    phase: Phase
    start_s: float
    end_s: float


@dataclass(frozen=True)
class Report:
    """What a simulated run did."""

    seconds: float
    reads: int
    hits: int
    read_s: float
    write_s: float
    peak_bytes: int
    mean_bytes: float
    steps: tuple[tuple[int, bool], ...]
    spans: tuple[Span, ...]

    @property
    def hit_ratio(self) -> float:
        """Hits by reads; 0 where nothing is read."""
        return self.hits / self.reads if self.reads else 0.0


def usage(spans: Iterable[Span], amounts: Sequence[float]) -> list[tuple[float, float]]:
    """Return how much of a resource is in use, as a step function of time."""
    changes: dict[float, float] = {}
    for span in spans:
        if span.phase in ("compute", "remake") and amounts[span.job]:
            changes[span.start_s] = changes.get(span.start_s, 0) + amounts[span.job]
            changes[span.end_s] = changes.get(span.end_s, 0) - amounts[span.job]
    times = sorted(changes)
    return list(zip(times, accumulate(changes[time] for time in times), strict=True))
