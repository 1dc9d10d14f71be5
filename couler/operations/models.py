"""Operations of the models that are no neural networks, for training and for evaluation.

The unit is the elementary operation of a worst-case bound: one term of the sum that the bound
counts, whatever it costs on a machine. A neural network is counted in floating-point operations
(`couler.operations.networks`), so figures of the two kinds order work and do not time it: rates
learned for each kind of model (`couler.operations.throughput`) make seconds of both.

In all formulas `n` samples have `m` features each.

References
----------
Optimising ML Pipeline Execution via Smart Task Placement (Electronics 14(13), 2025), section 5.2,
Table 2, and the code that was published with it. The formulas of the table are those of the code.
"""

from __future__ import annotations

import math
import typing as t
from dataclasses import dataclass

from couler.errors import EstimateError
from couler.operations.variant import Variant, check_variant

__all__ = [
    "DecisionTree",
    "KernelSvm",
    "LinearRegression",
    "LinearSvm",
    "LogisticRegression",
    "Model",
    "RandomForest",
]


class Model(t.Protocol):
    """A model whose training and evaluation can be estimated."""

    @property
    def kind(self) -> str:
        """What kind of model it is, in words with hyphens."""
        ...

    def training(self, samples: int, features: int, *, variant: Variant = "paper") -> float:
        """Return the operations of training.

        Parameters
        ----------
        samples
            How many it is trained on, at least 1.
        features
            How many each of them has, at least 1.
        variant
            The reading of the paper.

        Raises
        ------
        EstimateError
            A number is less than 1, or the variant is none.
        """
        ...

    def evaluation(
        self, samples: int, features: int, *, trained_on: int, variant: Variant = "paper"
    ) -> float:
        """Return the operations of predicting the samples of a test.

        Parameters
        ----------
        samples
            How many are predicted, at least 1.
        features
            How many each of them has, at least 1.
        trained_on
            Of how many samples the model was trained: it may have grown with them.
        variant
            The reading of the paper.

        Raises
        ------
        EstimateError
            A number is less than 1, or the variant is none, or has no figure for this model.
        """
        ...


@dataclass(frozen=True, slots=True)
class LogisticRegression:
    """Logistic regression, fitted by an iterative solver.

    Attributes
    ----------
    iterations
        `I`, passes over the data; 100 as in scikit-learn.

    Notes
    -----
    Training `n m I`, evaluation `n m`: one gradient, or one product, a value. Both variants agree.
    That is of two classes; of more, one against the rest fits one such model for each.

    Examples
    --------
    >>> model = LogisticRegression()
    >>> model.training(3918, 11), model.evaluation(979, 11, trained_on=3918)
    (4309800.0, 10769.0)
    """

    iterations: int = 100
    kind: t.ClassVar[str] = "logistic-regression"

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
class LinearRegression:
    """Linear regression, by ordinary least squares or by stochastic gradient descent.

    Attributes
    ----------
    solver
        `ols` or `sgd`.
    iterations
        `I`, passes over the data of `sgd`; 1,000 as in scikit-learn's `SGDRegressor`.

    Notes
    -----
    Training by least squares `n m^2 + m^3`: the normal equations, and solving them. By gradient
    descent `n m I`. Evaluation `n m`. Both variants agree; no pipeline of the paper uses it.

    Examples
    --------
    >>> LinearRegression().training(1000, 10), LinearRegression("sgd").training(1000, 10)
    (101000.0, 10000000.0)
    """

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
    """A decision tree.

    Attributes
    ----------
    max_depth
        Of the tree; None for no bound.

    Notes
    -----
    Training `n m log2 n`. Evaluation `n d`, a comparison a level. `d` is `max_depth`; without a
    bound it is `log2` of the samples that the tree was trained on, the depth of a balanced one. (A
    tree that takes one sample off at each level is as deep as there are samples; the paper's
    training bound takes balanced ones too.)

    `published-code` rounds down to whole numbers. Its expression for evaluation is
    `n * max_depth or log2(n)`, which for a tree without a bound fails: it has no figure, and asking
    for one is an error. The brackets that are meant are in its random forest, which takes `log2` of
    the samples that are *predicted*.

    Examples
    --------
    >>> tree = DecisionTree(max_depth=10)
    >>> round(tree.training(3918, 11)), tree.evaluation(979, 11, trained_on=3918)
    (514413, 9790.0)
    >>> DecisionTree().evaluation(100, 11, trained_on=1024)
    1000.0
    """

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
    """A random forest.

    Attributes
    ----------
    trees
        `k`, how many; 100 as in scikit-learn.
    max_depth
        Of each tree; None for no bound.

    Notes
    -----
    Training `k n m log2 n`, evaluation `k n d`, with `d` as for a `DecisionTree`. All features
    count at each node; forests that try the root of `m` of them take less.

    `published-code` takes `floor(log2 n)` for training, and for evaluation without a bound `log2`
    of the samples that are predicted.

    Examples
    --------
    >>> forest = RandomForest()
    >>> [round(forest.training(24000, 23, variant=way)) for way in ("paper", "published-code")]
    [803201223, 772800000]
    >>> [round(forest.evaluation(6000, 23, trained_on=24000, variant=way))
    ...  for way in ("paper", "published-code")]
    [8730448, 7530448]
    """

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
class LinearSvm:
    """A support vector machine without a kernel.

    Attributes
    ----------
    iterations
        `I`, passes over the data; 100 as in the published code. (scikit-learn's `LinearSVC` stops
        at 1,000.)

    Notes
    -----
    Training `n m I`, evaluation `n m`. Both variants agree.

    Examples
    --------
    >>> LinearSvm(1000).training(395216, 41)
    16203856000.0
    """

    iterations: int = 100
    kind: t.ClassVar[str] = "linear-svm"

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
class KernelSvm:
    """A support vector machine with a kernel, such as the radial one.

    Attributes
    ----------
    iterations
        `I`; 100 as in the published code.
    support_vectors
        `s`; None for as many as there are samples, the worst case.

    Notes
    -----
    Training `n^2 m I`. Evaluation `n s m`: a kernel for each sample and each support vector. These
    are samples of the training, so where `s` is not known it is their number.

    `published-code` takes the number of the samples that are *predicted* for it, a quarter of it
    where 80 % are trained on and 20 % predicted.

    Examples
    --------
    >>> machine = KernelSvm()
    >>> machine.training(24000, 23)
    1324800000000.0
    >>> [machine.evaluation(6000, 23, trained_on=24000, variant=way)
    ...  for way in ("paper", "published-code")]
    [3312000000.0, 828000000.0]
    """

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
