"""pass@k, and intervals for it."""

from __future__ import annotations

import math
import random
import typing as t
from collections.abc import Sequence
from statistics import fmean

RESAMPLES = 2000
"""Of the bootstrap, whose interval has 95 % of them."""


class Tried(t.NamedTuple):
    """What the samples of one task came to."""

    item: str
    samples: int
    right: int


class Estimate(t.NamedTuple):
    """A share with an interval, and from how many tasks it is."""

    value: float
    low: float
    high: float
    tasks: int


def pass_at_k(samples: int, right: int, k: int) -> float:
    """Return the unbiased estimate of the chance that one of k answers is right."""
    # Chen et al. (2021), "Evaluating Large Language Models Trained on Code", section 2.1, eq. 1.
    if not (1 <= k <= samples and 0 <= right <= samples):
        raise ValueError(f"pass@{k} of {samples} answers of which {right} are right")
    return 1.0 - math.comb(samples - right, k) / math.comb(samples, k)


def mean_pass_at_k(tasks: Sequence[Tried], k: int, *, seed: int = 0) -> Estimate | None:
    """Return the mean of pass@k over tasks, with a bootstrap interval."""
    # Efron and Tibshirani (1993), "An Introduction to the Bootstrap", section 13.3; Cameron,
    # Gelbach and Miller (2008), "Bootstrap-Based Improvements for Inference with Clustered Errors".
    by_item: dict[str, list[float]] = {}
    for task in tasks:
        if task.samples >= k:
            by_item.setdefault(task.item, []).append(pass_at_k(task.samples, task.right, k))
    if not by_item:
        return None
    items = [by_item[name] for name in sorted(by_item)]
    values = [value for item in items for value in item]
    sums = [(sum(item), len(item)) for item in items]
    chance = random.Random(seed)
    means = []
    for _ in range(RESAMPLES):
        drawn = chance.choices(sums, k=len(sums))
        means.append(sum(one for one, _ in drawn) / sum(count for _, count in drawn))
    means.sort()
    low, high = _percentile(means, 0.025), _percentile(means, 0.975)
    return Estimate(fmean(values), low, high, len(values))


def _percentile(ordered: Sequence[float], share: float) -> float:
    """Return a percentile of ordered numbers, between two of them by their distances."""
    place = share * (len(ordered) - 1)
    below = math.floor(place)
    above = min(below + 1, len(ordered) - 1)
    return ordered[below] + (ordered[above] - ordered[below]) * (place - below)
