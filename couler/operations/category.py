"""How complex training is: low, medium or high, by which the paper chooses groups of nodes."""
# Optimising ML Pipeline Execution via Smart Task Placement (Electronics 14(13), 2025), section 5.3
# and Table 4.

from __future__ import annotations

import typing as t
from collections.abc import Mapping

from couler.errors import EstimateError
from couler.ir.base import FrozenDict
from couler.ir.diagnostics import did_you_mean

Category: t.TypeAlias = t.Literal["low", "medium", "high"]
"""The complexity of training."""

LOW_UP_TO = 200.0
"""Operations for each value that is trained on, up to which training is of low complexity."""

HIGH_ABOVE = 5_000.0
"""Operations for each value that is trained on, above which training is of high complexity."""

_OF_KIND: Mapping[str, Category] = FrozenDict(
    {
        "logistic-regression": "low",
        "linear-regression": "low",
        "decision-tree": "low",
        "random-forest": "medium",
        "linear-svm": "medium",
        "kernel-svm": "medium",
        "dense-network": "high",
        "convolutional-network": "high",
    }
)

KINDS: tuple[str, ...] = tuple(_OF_KIND)
"""All kinds of models whose operations are counted."""


def category_of_kind(kind: str) -> Category:
    """Return the category that the paper puts a kind of model into."""
    if kind not in _OF_KIND:
        raise EstimateError(f'there is no kind of model "{kind}".{did_you_mean(kind, _OF_KIND)}')
    return _OF_KIND[kind]


def category_of_training(operations: float, samples: int, features: int) -> Category:
    """Return the category of a training by what it does to each value that it is given."""
    if samples < 1 or features < 1 or not operations >= 0:
        raise EstimateError(
            f"{operations:g} operations on {samples} samples of {features} features: "
            "operations must be at least 0, the others at least 1"
        )
    each = operations / (samples * features)
    if each <= LOW_UP_TO:
        return "low"
    return "medium" if each <= HIGH_ABOVE else "high"
