"""Operations a second that machines have shown, by kind of model and group of nodes."""

from __future__ import annotations

import math
import statistics
import typing as t
from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from couler.errors import EstimateError

DEFAULT_OPS_PER_S = 1e9
"""What is taken where nothing is known: about one operation for each cycle of a slow core."""


class Measurement(t.NamedTuple):
    """A task that ran."""

    operations: float
    """As estimated, in whatever unit the estimates of its kind have."""
    group: str
    """Of the node that it ran on."""
    kind: str
    """Of its model, as `Model.kind`, or another name for work of one kind."""
    seconds: float
    """How long it took."""


class Rate(t.NamedTuple):
    """How fast a group does work of a kind."""

    ops_per_s: float
    measurements: int
    """How many it is the median of; 0 for one that is given and not measured."""

    @property
    def source(self) -> str:
        """How it is known, in words."""
        if not self.measurements:
            return "theoretical"
        runs = "1 run" if self.measurements == 1 else f"{self.measurements:,} runs"
        return f"median of {runs}"


@dataclass(frozen=True, slots=True)
class Throughput:
    """How fast groups of nodes do work of each kind."""

    learned: Mapping[tuple[str, str], Rate] = field(default_factory=dict)
    theoretical: Mapping[str, float] = field(default_factory=dict)
    default_ops_per_s: float = DEFAULT_OPS_PER_S

    def __post_init__(self) -> None:
        """Check the rates."""
        rates = {
            **{f"{kind} on {group}": one.ops_per_s for (kind, group), one in self.learned.items()},
            **{f"group {group}": rate for group, rate in self.theoretical.items()},
            "default_ops_per_s": self.default_ops_per_s,
        }
        problems = [
            f"{name} is {rate:g} operations a second; it must be a number above 0"
            for name, rate in rates.items()
            if not 0 < rate < math.inf
        ]
        if problems:
            raise EstimateError("throughput:", problems)

    def rate(self, kind: str, group: str) -> Rate:
        """Return how fast a group does work of a kind: as learned, else in theory."""
        known = self.learned.get((kind, group))
        if known is not None:
            return known
        return Rate(self.theoretical.get(group, self.default_ops_per_s), 0)

    def seconds(self, operations: float, kind: str, group: str) -> float:
        """Return how long a group takes for operations of a kind."""
        return operations / self.rate(kind, group).ops_per_s


def learn_throughput(
    measurements: Iterable[Measurement],
    *,
    theoretical: Mapping[str, float] | None = None,
    default_ops_per_s: float = DEFAULT_OPS_PER_S,
    least: int = 1,
) -> Throughput:
    """Return what measurements tell of the rates of groups."""
    if least < 1:
        raise EstimateError(f"least is {least}; it must be at least 1")
    ratios: defaultdict[tuple[str, str], list[float]] = defaultdict(list)
    problems: list[str] = []
    for number, one in enumerate(measurements, 1):
        if not (0 <= one.operations < math.inf and 0 <= one.seconds < math.inf):
            problems.append(
                f"measurement {number}: {one.operations:g} operations in {one.seconds:g} s; "
                "both must be numbers of at least 0"
            )
        elif one.operations and one.seconds:
            ratios[one.kind, one.group].append(one.operations / one.seconds)
    if problems:
        raise EstimateError("throughput cannot be learned:", problems)
    learned = {
        which: Rate(statistics.median(found), len(found))
        for which, found in sorted(ratios.items())
        if len(found) >= least
    }
    return Throughput(learned, dict(theoretical or {}), default_ops_per_s)
