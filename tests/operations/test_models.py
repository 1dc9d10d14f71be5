"""Operations of models by hand, and what holds of all of them."""

from __future__ import annotations

import math

import pytest
from hypothesis import given, strategies as st

from couler.errors import EstimateError
from couler.operations.category import category_of_kind
from couler.operations.models import (
    DecisionTree,
    KernelSvm,
    LinearRegression,
    LinearSvm,
    LogisticRegression,
    Model,
    RandomForest,
)
from couler.operations.networks import Dense, NeuralNetwork
from couler.operations.variant import Variant

CODE: Variant = "published-code"
MODELS: tuple[Model, ...] = (
    LogisticRegression(7),
    LinearRegression(),
    LinearRegression("sgd", 7),
    DecisionTree(),
    DecisionTree(5),
    RandomForest(3),
    RandomForest(3, max_depth=5),
    LinearSvm(7),
    KernelSvm(7),
    KernelSvm(7, support_vectors=5),
    NeuralNetwork((4,), (Dense(3), Dense(1)), epochs=2),
)

counts = st.integers(1, 10**6)
models = st.sampled_from(MODELS)


@pytest.mark.parametrize(
    ("model", "training", "evaluation"),
    [
        (LogisticRegression(10), 64 * 3 * 10, 16 * 3),
        (LinearRegression(), 64 * 9 + 27, 16 * 3),
        (LinearRegression("sgd", 10), 64 * 3 * 10, 16 * 3),
        (DecisionTree(), 64 * 3 * 6, 16 * 6),
        (DecisionTree(max_depth=4), 64 * 3 * 6, 16 * 4),
        (RandomForest(5), 5 * 64 * 3 * 6, 5 * 16 * 6),
        (RandomForest(5, max_depth=4), 5 * 64 * 3 * 6, 5 * 16 * 4),
        (LinearSvm(10), 64 * 3 * 10, 16 * 3),
        (KernelSvm(10), 64 * 64 * 3 * 10, 16 * 64 * 3),
        (KernelSvm(10, support_vectors=20), 64 * 64 * 3 * 10, 16 * 20 * 3),
    ],
)
def test_by_hand(model: Model, training: float, evaluation: float) -> None:
    """64 samples of 3 features are trained on, 16 predicted; log2 64 = 6."""
    assert model.training(64, 3) == training
    assert model.evaluation(16, 3, trained_on=64) == evaluation


def test_defaults_are_those_of_the_published_code() -> None:
    assert LogisticRegression().iterations == LinearSvm().iterations == 100
    assert KernelSvm().iterations == RandomForest().trees == 100
    assert LinearRegression().iterations == 1000


def test_a_forest_of_the_published_code_rounds_the_levels_of_training_alone() -> None:
    forest = RandomForest(2)
    assert forest.training(100, 1, variant=CODE) == 2 * 100 * 6  # log2 100 = 6.64
    assert forest.training(100, 1) == 2 * 100 * math.log2(100)
    assert forest.evaluation(100, 1, trained_on=64, variant=CODE) == 2 * 100 * math.log2(100)
    assert forest.evaluation(100, 1, trained_on=64) == 2 * 100 * 6


def test_a_tree_of_the_published_code_is_rounded_down_and_needs_a_depth() -> None:
    assert DecisionTree().training(100, 1, variant=CODE) == 664  # 664.39
    assert DecisionTree(9).evaluation(100, 1, trained_on=64, variant=CODE) == 900
    with pytest.raises(EstimateError, match="fails for a tree without max_depth"):
        DecisionTree().evaluation(100, 1, trained_on=64, variant=CODE)


def test_support_vectors_of_the_published_code_are_counted_by_what_is_predicted() -> None:
    assert KernelSvm().evaluation(16, 3, trained_on=64, variant=CODE) == 16 * 16 * 3


@given(models, counts, counts, counts)
def test_more_data_never_take_less(model: Model, samples: int, more: int, features: int) -> None:
    assert 0 <= model.training(samples, features) <= model.training(samples + more, features)
    few = model.evaluation(samples, features, trained_on=more)
    assert few > 0 or more == 1  # a tree of one sample asks nothing
    assert few <= model.evaluation(samples + 1, features, trained_on=more + 1)


@pytest.mark.parametrize("model", MODELS, ids=repr)
def test_each_kind_has_a_category(model: Model) -> None:
    assert category_of_kind(model.kind) in ("low", "medium", "high")


@pytest.mark.parametrize("model", MODELS, ids=repr)
def test_numbers_are_at_least_1(model: Model) -> None:
    with pytest.raises(EstimateError, match="samples is 0; it must be at least 1"):
        model.training(0, 3)
    with pytest.raises(EstimateError, match="samples is -1; it must be at least 1"):
        model.evaluation(-1, 3, trained_on=5)
    with pytest.raises(EstimateError, match='the variant is "papers"'):
        model.training(5, 3, variant="papers")  # type: ignore[arg-type]  # what is tested


def test_parameters_are_checked_where_they_are_given() -> None:
    with pytest.raises(EstimateError, match="decision-tree: max_depth is 0"):
        DecisionTree(max_depth=0)
    with pytest.raises(EstimateError, match="random-forest: trees is -1"):
        RandomForest(-1)
    with pytest.raises(EstimateError, match='the solver is "qr"'):
        LinearRegression("qr")  # type: ignore[arg-type]  # what is tested


def test_an_unknown_kind_has_no_category() -> None:
    with pytest.raises(EstimateError, match='Did you mean "linear-svm"'):
        category_of_kind("linear-smv")
