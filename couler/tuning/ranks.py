"""How alike two orders are."""

from __future__ import annotations

import math
from collections.abc import Sequence


def spearman(one: Sequence[float], other: Sequence[float]) -> float | None:
    """Return Spearman's rank correlation; None where one of them is constant."""
    ranks, others = _ranks(one), _ranks(other)
    mean = (len(one) + 1) / 2
    products = math.fsum((a - mean) * (b - mean) for a, b in zip(ranks, others, strict=True))
    squares = math.fsum((a - mean) ** 2 for a in ranks) * math.fsum((b - mean) ** 2 for b in others)
    return products / math.sqrt(squares) if squares else None


def _ranks(values: Sequence[float]) -> list[float]:
    order = sorted(range(len(values)), key=lambda index: values[index])
    ranks = [0.0] * len(values)
    start = 0
    while start < len(order):
        end = start
        while end + 1 < len(order) and values[order[end + 1]] == values[order[start]]:
            end += 1
        for index in order[start : end + 1]:
            ranks[index] = (start + end) / 2 + 1
        start = end + 1
    return ranks
