"""Upward ranks: how much of a pipeline is still to come from a task on."""

from __future__ import annotations

import math

from couler.optimizers.placement.compiled import Compiled

__all__ = ["mean_seconds", "upward_ranks"]


def mean_seconds(model: Compiled) -> list[float]:
    """Return the mean seconds of each task over the nodes that can run it."""
    sizes = [len(inside) for inside in model.classes]
    found = []
    for row in model.seconds:
        total = count = 0.0
        for seconds, size in zip(row, sizes, strict=True):
            if seconds < math.inf:
                total += seconds * size
                count += size
        found.append(total / count if count else 0.0)
    return found


def upward_ranks(model: Compiled, means: list[float]) -> list[float]:
    r"""Return the upward rank of each task, in seconds."""
    # H. Topcuoglu, S. Hariri, M.-Y. Wu: Performance-effective and low-complexity task scheduling
    # for heterogeneous computing, IEEE Trans. Parallel Distrib. Syst. 13(3) (2002), Eq. 6 (HEFT).
    ranks = list(means)
    for task in range(len(ranks) - 1, -1, -1):  # numbers are a topological order
        for source, moved in model.before[task]:
            ranks[source] = max(ranks[source], means[source] + moved + ranks[task])
    return ranks
