"""What a simulated run did, and figures of it."""

from __future__ import annotations

import typing as t
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import accumulate

Phase: t.TypeAlias = t.Literal["read", "remake", "compute", "write"]


@dataclass(frozen=True, slots=True)
class Span:
    """What a step did for some time.

    Attributes
    ----------
    job
        Whose program it is: while a step has an input made again, the job that makes it.
    phase
        `read` and `write` use no processor; `remake` and `compute` do.
    start_s, end_s
        Seconds from the start of the run.
    """

    job: int
    phase: Phase
    start_s: float
    end_s: float


@dataclass(frozen=True)
class Report:
    """What a simulated run did.

    Attributes
    ----------
    seconds
        From the start of the run to its end.
    reads, hits
        How many inputs steps read, and how many of these the cache held.
    read_s
        Seconds that steps took to have their inputs: reading, and making them again.
    write_s
        Seconds that steps took to write, to either store.
    peak_bytes, mean_bytes
        What the cache held at most, and on the mean over the time of the run.
    steps
        Starts and ends in their order: `(job, False)` is a start, `(job, True)` an end. At a start
        a job reads its inputs, at its end its outputs are there.
    spans
        What each step did when; what takes no time is left out.
    """

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
    """Return how much of a resource is in use, as a step function of time.

    Parameters
    ----------
    spans
        Of a report.
    amounts
        What each job uses while it computes, such as cores.

    Returns
    -------
    list of (float, float)
        From each time in seconds on, so much is in use; times grow.

    Notes
    -----
    O(n log n) for n spans.

    Examples
    --------
    >>> usage([Span(0, "read", 0, 1), Span(0, "compute", 1, 5), Span(1, "compute", 2, 5)], [2, 4])
    [(1, 2), (2, 6), (5, 0)]
    """
    changes: dict[float, float] = {}
    for span in spans:
        if span.phase in ("compute", "remake") and amounts[span.job]:
            changes[span.start_s] = changes.get(span.start_s, 0) + amounts[span.job]
            changes[span.end_s] = changes.get(span.end_s, 0) - amounts[span.job]
    times = sorted(changes)
    return list(zip(times, accumulate(changes[time] for time in times), strict=True))
