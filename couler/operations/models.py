"""Operations of the models that are no neural networks, for training and for evaluation."""
# Optimising ML Pipeline Execution via Smart Task Placement (Electronics 14(13), 2025), section 5.2,
# Table 2, and the code that was published with it. The formulas of the table are those of the code.

from __future__ import annotations

import math
import typing as t
from dataclasses import dataclass

from couler.errors import EstimateError
from couler.operations.variant import Variant, check_variant


class Model(t.Protocol):
    """A model whose training and evaluation can be estimated."""

    @property
    def kind(self) -> str:
        """What kind of model it is, in words with hyphens."""
        ...

    def training(self, samples: int, features: int, *, variant: Variant = "paper") -> float:
        """Return the operations of training."""
        ...

    def evaluation(
        self, samples: int, features: int, *, trained_on: int, variant: Variant = "paper"
    ) -> float:
        """Return the operations of predicting the samples of a test."""
        ...


@dataclass(frozen=True, slots=True)
class _LinearModel:
    """A linear model, fitted by an iterative solver."""

    iterations: int = 100
    kind: t.ClassVar[str]

    def __post_init__(self) -> None:
        _check_counts(self.kind, iterations=self.iterations)

    def training(self, samples: int, features: int, *, variant: Variant = "paper") -> float:
        """Return the operations of training: see `Model`."""
        _check(self.kind, variant, samples, features)
        return float(samples * features * self.iterations)

    def evaluation(
        self, samples: int, features: int, *, trained_on: int, variant: Variant = "paper"
    ) -> float:
        """Return the operations of predicting: see `Model`."""
        _check(self.kind, variant, samples, features, trained_on)
        return float(samples * features)


@dataclass(frozen=True, slots=True)
class LogisticRegression(_LinearModel):
    """Logistic regression, fitted by an iterative solver."""

    kind: t.ClassVar[str] = "logistic-regression"


@dataclass(frozen=True, slots=True)
class LinearRegression:
    """Linear regression, by ordinary least squares or by stochastic gradient descent."""

    solver: t.Literal["ols", "sgd"] = "ols"
    iterations: int = 1000
    kind: t.ClassVar[str] = "linear-regression"

    def __post_init__(self) -> None:
        if self.solver not in ("ols", "sgd"):
            raise EstimateError(f'{self.kind}: the solver is "{self.solver}", not "ols" or "sgd"')
        _check_counts(self.kind, iterations=self.iterations)

    def training(self, samples: int, features: int, *, variant: Variant = "paper") -> float:
        """Return the operations of training: see `Model`."""
        _check(self.kind, variant, samples, features)
        if self.solver == "ols":
            return float(samples * features**2 + features**3)
        return float(samples * features * self.iterations)

    def evaluation(
        self, samples: int, features: int, *, trained_on: int, variant: Variant = "paper"
    ) -> float:
        """Return the operations of predicting: see `Model`."""
        _check(self.kind, variant, samples, features, trained_on)
        return float(samples * features)


@dataclass(frozen=True, slots=True)
class DecisionTree:
    """A decision tree."""

    max_depth: int | None = None
    kind: t.ClassVar[str] = "decision-tree"

    def __post_init__(self) -> None:
        _check_counts(self.kind, max_depth=self.max_depth)

    def training(self, samples: int, features: int, *, variant: Variant = "paper") -> float:
        """Return the operations of training: see `Model`."""
        _check(self.kind, variant, samples, features)
        operations = samples * features * math.log2(samples)
        return operations if variant == "paper" else float(int(operations))

    def evaluation(
        self, samples: int, features: int, *, trained_on: int, variant: Variant = "paper"
    ) -> float:
        """Return the operations of predicting: see `Model`."""
        _check(self.kind, variant, samples, features, trained_on)
        if self.max_depth is not None:
            return float(samples * self.max_depth)
        if variant == "published-code":
            raise EstimateError(
                f"{self.kind}: the published code fails for a tree without max_depth. "
                'Set max_depth, or take the variant "paper"'
            )
        return samples * math.log2(trained_on)


@dataclass(frozen=True, slots=True)
class RandomForest:
    """A random forest."""

    trees: int = 100
    max_depth: int | None = None
    kind: t.ClassVar[str] = "random-forest"

    def __post_init__(self) -> None:
        _check_counts(self.kind, trees=self.trees, max_depth=self.max_depth)

    def training(self, samples: int, features: int, *, variant: Variant = "paper") -> float:
        """Return the operations of training: see `Model`."""
        _check(self.kind, variant, samples, features)
        levels = math.log2(samples)
        if variant == "published-code":
            levels = math.floor(levels)
        return float(self.trees * samples * features * levels)

    def evaluation(
        self, samples: int, features: int, *, trained_on: int, variant: Variant = "paper"
    ) -> float:
        """Return the operations of predicting: see `Model`."""
        _check(self.kind, variant, samples, features, trained_on)
        grown_on = trained_on if variant == "paper" else samples
        depth = math.log2(grown_on) if self.max_depth is None else self.max_depth
        return float(self.trees * samples * depth)


@dataclass(frozen=True, slots=True)
class LinearSvm(_LinearModel):
    """A support vector machine without a kernel."""

    kind: t.ClassVar[str] = "linear-svm"


@dataclass(frozen=True, slots=True)
class KernelSvm:
    """A support vector machine with a kernel, such as the radial one."""

    iterations: int = 100
    support_vectors: int | None = None
    kind: t.ClassVar[str] = "kernel-svm"

    def __post_init__(self) -> None:
        _check_counts(self.kind, iterations=self.iterations, support_vectors=self.support_vectors)

    def training(self, samples: int, features: int, *, variant: Variant = "paper") -> float:
        """Return the operations of training: see `Model`."""
        _check(self.kind, variant, samples, features)
        return float(samples**2 * features * self.iterations)

    def evaluation(
        self, samples: int, features: int, *, trained_on: int, variant: Variant = "paper"
    ) -> float:
        """Return the operations of predicting: see `Model`."""
        _check(self.kind, variant, samples, features, trained_on)
        vectors = self.support_vectors
        if vectors is None:
            vectors = trained_on if variant == "paper" else samples
        return float(samples * vectors * features)


def _check(kind: str, variant: str, samples: int, features: int, trained_on: int = 1) -> None:
    check_variant(variant)
    _check_counts(kind, samples=samples, features=features, trained_on=trained_on)


def _check_counts(kind: str, **counts: int | None) -> None:
    """Check that numbers that are known are at least 1."""
    for name, count in counts.items():
        if count is not None and count < 1:
            raise EstimateError(f"{kind}: {name} is {count}; it must be at least 1")
