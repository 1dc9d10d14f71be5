"""Try all pairs of two hyperparameters, and keep the best: a grid search as a map over two lists.

Tuning, grid, sweep, learning rate and depth.
"""

from typing import NamedTuple

import couler

RATES = [0.01, 0.01, 0.1, 0.1]
DEPTHS = [3, 6, 3, 6]


class Trial(NamedTuple):
    rate: float
    depth: int
    error: float


@couler.step
def try_pair(rate: float, depth: int) -> Trial:
    return Trial(rate, depth, abs(rate - 0.05) / depth)


@couler.step
def least_error(trials: list[Trial]) -> Trial:
    return min(trials, key=lambda trial: trial.error)


with couler.Workflow("grid-search") as wf:
    best = least_error(try_pair.map(rate=RATES, depth=DEPTHS))
    wf.output("rate", best.rate)
    wf.output("depth", best.depth)
