"""Parameters of models are checked before the program runs, as far as they are known."""

from __future__ import annotations

import inspect
import typing as t

import pytest

import couler
from couler import Dataset
from couler.steps import lightgbm, sklearn, xgboost
from couler.steps.known import LIGHTGBM, SKLEARN, XGBOOST, findings
from tests.dsl.look import problems

DATA = Dataset(name="iris")


def svc(parameters: dict[str, object]) -> object:
    return sklearn.train("SVC", DATA, parameters)


@pytest.mark.parametrize(
    ("call", "code", "severity", "words"),
    [
        (
            lambda: xgboost.train(DATA, None, {"num_boost_round": "ten"}),
            "CLR107",
            "error",
            "\"num_boost_round\" must be int, not 'ten'",
        ),
        (
            lambda: xgboost.train(DATA, None, {"num_boost_rounds": 10}),
            "CLR106",
            "warning",
            'Did you mean "num_boost_round"?',
        ),
        (lambda: xgboost.train(DATA, {"max_dept": 3}), "CLR106", "warning", '"max_depth"?'),
        (lambda: xgboost.train(DATA, {"eta": [1]}), "CLR107", "error", "must be int | float"),
        (lambda: xgboost.train(DATA, {"max_depth": True}), "CLR107", "error", "which is bool"),
        (lambda: lightgbm.train(DATA, {"num_leaves": "x"}), "CLR107", "error", "must be int"),
        (
            lambda: lightgbm.train(DATA, None, {"num_iteratoins": 10}),
            "CLR106",
            "warning",
            'Did you mean "num_iterations"?',
        ),
        (
            lambda: lightgbm.LightGBMEstimator(num_boost_round="9").fit(DATA),
            "CLR107",
            "error",
            "must be int",
        ),
        (lambda: svc({"random_state": "now"}), "CLR107", "error", "must be int | None"),
        (lambda: svc({"max_itr": 10}), "CLR106", "warning", 'Did you mean "max_iter"?'),
    ],
)
def test_a_wrong_parameter_is_told(
    call: t.Callable[[], object], code: str, severity: str, words: str
) -> None:
    with couler.Workflow("w") as wf:
        call()
    [problem] = problems(wf)
    assert (problem.code, problem.severity) == (code, severity)
    assert words in problem.message


def test_a_value_of_the_workflow_is_checked_by_its_type() -> None:
    with couler.Workflow("w", rounds="ten", depth=3, rate=0.1) as wf:
        xgboost.train(DATA, {"max_depth": wf.params.depth, "eta": wf.params.rate})
        xgboost.train(DATA, {"eta": wf.params.depth})
        xgboost.train(DATA, {"num_boost_round": wf.params.rounds})
    [problem] = problems(wf)
    assert problem.code == "CLR107"


def test_right_parameters_are_no_problem() -> None:
    with couler.Workflow("w") as wf:
        xgboost.train(
            DATA,
            {"max_depth": "6", "eta": 1, "objective": "multi:softprob", "num_parallel_tree": 3},
            {"num_boost_round": 3, "early_stopping_rounds": None},
        )
        lightgbm.train(DATA, {"num_leaves": 7, "max_depth": "-1"}, {"num_iteration": 3})
        svc({"random_state": None, "max_iter": -1, "C": 3})
    assert problems(wf) == []


def test_no_name_of_lightgbm_is_taken_for_a_mistake() -> None:
    library = pytest.importorskip("lightgbm")
    aliases = library.basic._ConfigAliases._get_all_param_aliases()
    names = {name for one, others in aliases.items() for name in (one, *others)}
    assert set(LIGHTGBM.types) - {"num_boost_round"} <= names | {"objective"}
    assert not [name for name in names if list(findings(LIGHTGBM, {name: None}))]


def test_no_name_of_xgboost_is_taken_for_a_mistake() -> None:
    library = pytest.importorskip("xgboost")
    names = set(library.XGBModel().get_params())
    assert not [name for name in names if list(findings(XGBOOST, {name: None}))]


def test_no_name_of_scikit_learn_is_taken_for_a_mistake() -> None:
    library = pytest.importorskip("sklearn.utils")
    names = {
        name
        for _, estimator in library.all_estimators()
        for name in inspect.signature(estimator).parameters
    }
    assert not [name for name in names if list(findings(SKLEARN, {name: None}))]
