"""Training steps of the zoo say how much they compute, where that is known."""

from __future__ import annotations

import math
from functools import partial

import pytest
from hypothesis import given, strategies as st

import couler
from couler import Dataset
from couler.ir.policies import Profile
from couler.operations.data import TabularCard
from couler.operations.models import RandomForest
from couler.steps import sklearn, xgboost
from couler.steps.expected_work import expected_operations
from tests.dsl.look import problems, steps

IRIS = Dataset(name="iris")
N, M, HELD_OUT = 120, 4, 30
"""Of iris: the samples that are trained on, their features, and the samples held out."""


@pytest.mark.parametrize(
    ("estimator", "parameters", "operations"),
    [
        ("LogisticRegression", None, N * M * 100 + HELD_OUT * M),
        ("LogisticRegression", {"max_iter": 5, "C": 2.0}, N * M * 5 + HELD_OUT * M),
        ("LinearRegression", {}, N * M**2 + M**3 + HELD_OUT * M),
        ("SGDRegressor", {}, N * M * 1000 + HELD_OUT * M),
        ("DecisionTreeRegressor", {"max_depth": 3}, N * M * math.log2(N) + HELD_OUT * 3),
        ("DecisionTreeClassifier", {"max_depth": None}, (N * M + HELD_OUT) * math.log2(N)),
        ("RandomForestClassifier", {"n_estimators": 7}, 7 * (N * M + HELD_OUT) * math.log2(N)),
        ("LinearSVC", {}, N * M * 1000 + HELD_OUT * M),
        ("sklearn.svm.SVC", {}, N**2 * M * 100 + HELD_OUT * N * M),
        ("SVR", {"max_iter": 9, "kernel": "poly"}, N**2 * M * 9 + HELD_OUT * N * M),
        ("SVC", {"kernel": "linear", "max_iter": -1}, N * M * 100 + HELD_OUT * M),
    ],
)
def test_by_hand(estimator: str, parameters: dict[str, object], operations: float) -> None:
    assert expected_operations(estimator, parameters, IRIS) == pytest.approx(operations)


@pytest.mark.parametrize(
    ("estimator", "parameters"),
    [
        ("GaussianNB", {}),
        ("LogisticRegression", {"max_iter": "many"}),
        ("RandomForestClassifier", {"n_estimators": 0}),
        ("DecisionTreeClassifier", {"max_depth": True}),
        ("SVC", {"kernel": print}),
        (5, {}),
    ],
)
def test_what_is_not_known_has_no_figure(estimator: object, parameters: dict[str, object]) -> None:
    assert expected_operations(estimator, parameters, IRIS) is None


@pytest.mark.parametrize(
    "dataset",
    [
        Dataset(data="rows.csv"),
        Dataset(name="irsi"),
        Dataset(name="iris", test_fraction=2),
        Dataset(name="iris", test_fraction="none"),  # type: ignore[arg-type]  # what is tested
        Dataset(name="iris", feature_cols=5),  # type: ignore[arg-type]  # what is tested
    ],
)
def test_data_of_unknown_size_or_that_are_wrong_have_no_figure(dataset: Dataset) -> None:
    assert expected_operations("LogisticRegression", {}, dataset) is None


def test_columns_and_rows_that_are_chosen_count() -> None:
    chosen = Dataset(name="iris", feature_cols="petal length, petal width", test_fraction=0)
    assert expected_operations("LogisticRegression", {}, chosen) == 150 * 2 * 100
    card = TabularCard(samples=1000, columns={"float64": 21})
    file = Dataset(data="rows.csv", card=card, test_fraction=0.3)
    assert expected_operations("LogisticRegression", {}, file) == 700 * 20 * 100 + 300 * 20


@given(st.integers(1, 500), st.integers(0, 99))
def test_rows_are_held_out_as_the_program_does(samples: int, percent: int) -> None:
    card = TabularCard(samples=samples, columns={"float64": 3})
    dataset = Dataset(data="rows.csv", card=card, test_fraction=percent / 100)
    held_out = round(samples * (percent / 100)) or (1 if percent else 0)
    found = expected_operations("RandomForestClassifier", {"max_depth": 4}, dataset)
    if held_out == samples:
        assert found is None  # the program ends with an error: nothing is left to train on
        return
    training = RandomForest(max_depth=4).training(samples - held_out, 2)
    assert found == pytest.approx(training + 100 * held_out * 4)


def profile_of(wf: couler.Workflow, name: str) -> Profile | None:
    assert [str(one) for one in problems(wf)] == []
    return steps(wf)[name].profile


def test_steps_carry_it() -> None:
    with couler.Workflow("w", depth=3) as wf:
        sklearn.train("LogisticRegression", IRIS, {"max_iter": 5}, step_name="known")
        sklearn.train("GaussianNB", IRIS, step_name="unknown")
        depth = {"max_depth": wf.params.depth}
        sklearn.train("DecisionTreeClassifier", IRIS, depth, step_name="late")
        sklearn.train("SVC", IRIS, profile={"seconds": 5}, step_name="both")
        sklearn.train("SVC", IRIS, profile={"operations": 7}, step_name="own")
        xgboost.train(IRIS, profile={"operations": 8}, step_name="boosted")
    training = partial(Profile, task="training")
    machine = partial(training, model="kernel-svm")
    assert profile_of(wf, "known") == training(
        model="logistic-regression", operations=120 * 4 * 5 + 30 * 4
    )
    assert profile_of(wf, "unknown") == training()
    assert profile_of(wf, "late") == training()
    assert profile_of(wf, "both") == machine(seconds=5, operations=120**2 * 400 + 30 * 120 * 4)
    assert profile_of(wf, "own") == machine(operations=7)
    assert profile_of(wf, "boosted") == training(operations=8)


def test_a_card_is_nothing_that_the_program_is_given() -> None:
    def build(card: TabularCard | None) -> couler.Workflow:
        with couler.Workflow("w") as wf:
            sklearn.train("SVC", Dataset(data="rows.csv", card=card), step_name="train")
        return wf

    with_card = build(TabularCard(samples=9, columns={"float64": 2}))
    one, other = steps(build(None))["train"], steps(with_card)["train"]
    assert other.profile != one.profile
    assert other.model_copy(update={"profile": one.profile, "source": one.source}) == one
