"""Cross-validation: one step for each fold, numbered from 0, and the mean of their scores.

K-fold, sequence of numbers, average.
"""

import couler


@couler.step
def score_fold(fold: int, folds: int) -> float:
    return 0.8 + 0.1 * fold / folds


@couler.step
def mean_score(scores: list[float]) -> float:
    return sum(scores) / len(scores)


with couler.Workflow("cross-validation", folds=5) as wf:
    numbers = couler.sequence(count=wf.params.folds)
    scores = score_fold.partial(folds=wf.params.folds).map(fold=numbers)
    wf.output("mean", mean_score(scores))
