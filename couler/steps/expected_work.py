"""How much a step that trains a scikit-learn estimator computes, by what is known of its data."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from couler.ir.base import FrozenDict
from couler.operations.models import (
    DecisionTree,
    KernelSvm,
    LinearRegression,
    LinearSvm,
    LogisticRegression,
    Model,
    RandomForest,
)
from couler.steps.dataset import Dataset
from couler.steps.dataset_check import columns_of, dataset_problems

_SIZES: Mapping[str, tuple[int, int]] = FrozenDict(
    breast_cancer=(569, 30), diabetes=(442, 10), digits=(1797, 64), iris=(150, 4), wine=(178, 13)
)
"""Samples and features of the sets of scikit-learn."""


def expected_profile(
    estimator: object, hyperparameters: Mapping[str, object] | None, dataset: Dataset
) -> dict[str, float | str]:
    """Return what a profile can say of training an estimator and of judging it."""
    profile: dict[str, float | str] = {}
    model = _model_of(estimator, hyperparameters)
    if model is not None:
        profile["model"] = model.kind
    operations = expected_operations(estimator, hyperparameters, dataset)
    if operations is not None:
        profile["operations"] = operations
    return profile


def expected_operations(
    estimator: object, hyperparameters: Mapping[str, object] | None, dataset: Dataset
) -> float | None:
    """Return the operations of training an estimator and of judging it by the rows held out."""
    if next(dataset_problems(dataset), None) is not None:
        return None
    size = _size_of(dataset)
    model = _model_of(estimator, hyperparameters)
    if model is None or size is None:
        return None
    samples, features = size
    fraction = dataset.test_fraction
    held_out = round(samples * fraction) or (1 if fraction else 0)  # as programs/table.py does
    trained_on = samples - held_out
    if not trained_on:
        return None
    operations = model.training(trained_on, features)
    if held_out:
        operations += model.evaluation(held_out, features, trained_on=trained_on)
    return operations


def _model_of(estimator: object, hyperparameters: Mapping[str, object] | None) -> Model | None:
    make = _MODELS.get(estimator.rpartition(".")[2]) if isinstance(estimator, str) else None
    if make is None:
        return None
    try:
        return make(_Given(hyperparameters or {}))
    except _UnknownError:
        return None


class _UnknownError(Exception):
    """What an estimator computes is not known before it runs."""


class _Given(dict[str, object]):
    """Hyperparameters of an estimator."""

    def count(self, name: str, default: int) -> int:
        """Return a number that is at least 1."""
        value = self.get(name, default)
        if isinstance(value, bool) or not isinstance(value, int) or value < 1:
            raise _UnknownError
        return value

    @property
    def depth(self) -> int | None:
        """How deep a tree may be."""
        return None if self.get("max_depth") is None else self.count("max_depth", 1)


def _forest(given: _Given) -> Model:
    return RandomForest(given.count("n_estimators", 100), given.depth)


def _machine(given: _Given) -> Model:
    kernel = given.get("kernel", "rbf")
    # -1, no limit, is scikit-learn's default: the published code takes 100 then.
    iterations = 100 if given.get("max_iter", -1) == -1 else given.count("max_iter", 100)
    if not isinstance(kernel, str):
        raise _UnknownError
    return LinearSvm(iterations) if kernel == "linear" else KernelSvm(iterations)


def _size_of(dataset: Dataset) -> tuple[int, int] | None:
    """Return how many samples there are, and of how many features."""
    columns = columns_of(dataset)
    if dataset.card is not None:
        size = (dataset.card.samples, dataset.card.features_per_sample)
    elif dataset.name is not None:
        size = _SIZES[dataset.name]
    else:
        return None
    return size if not columns else (size[0], len(columns))


_MODELS: Mapping[str, Callable[[_Given], Model]] = FrozenDict(
    DecisionTreeClassifier=lambda given: DecisionTree(given.depth),
    DecisionTreeRegressor=lambda given: DecisionTree(given.depth),
    LinearRegression=lambda _: LinearRegression("ols"),
    LinearSVC=lambda given: LinearSvm(given.count("max_iter", 1000)),
    LinearSVR=lambda given: LinearSvm(given.count("max_iter", 1000)),
    LogisticRegression=lambda given: LogisticRegression(given.count("max_iter", 100)),
    RandomForestClassifier=_forest,
    RandomForestRegressor=_forest,
    SGDRegressor=lambda given: LinearRegression("sgd", given.count("max_iter", 1000)),
    SVC=_machine,
    SVR=_machine,
)
