"""Trains an estimator of scikit-learn."""

from __future__ import annotations

import inspect
import warnings
from collections.abc import Callable
from importlib import import_module
from typing import Any

from couler.steps.programs.judge import keep, model_file, telling
from couler.steps.programs.table import Table, fail, given, nearest, parameters, read_table

try:
    import joblib
    from sklearn.base import is_classifier, is_regressor
    from sklearn.metrics import get_scorer, get_scorer_names
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler
    from sklearn.utils import all_estimators
except ImportError:
    fail("scikit-learn is not installed where this step runs: pip install scikit-learn")


def find(name: str) -> Any:
    """Return the class of an estimator by its name, or by its path below sklearn."""
    if not name.startswith("sklearn."):
        known = dict(all_estimators())
        if name not in known:
            fail(f"scikit-learn has no estimator {name!r}{nearest(name, known)}")
        return known[name]
    module, _, member = name.rpartition(".")
    try:
        found = getattr(import_module(module), member)
    except (ImportError, AttributeError):
        fail(f"scikit-learn has no {name}")
    if not hasattr(found, "fit"):
        fail(f"{name} is no estimator: it has no fit")
    return found


def make(name: str) -> Any:
    """Return the estimator with its parameters."""
    estimator = find(name)
    options = {**parameters("model"), **parameters("train")}
    known = inspect.signature(estimator).parameters
    for option in options:
        if option not in known:
            fail(f"{name} has no parameter {option!r}{nearest(option, known)}")
    if "random_state" in known:
        options.setdefault("random_state", given("dataset").get("seed", 0))
    with telling(name):
        made = estimator(**options)
    return make_pipeline(StandardScaler(), made) if given("scale", False) else made


def scorer_of(name: str, model: Any) -> Callable[[Any, Any, Any], float]:
    """Return what judges a model: what is asked for, or its own score."""
    scoring = given("scoring")
    if scoring is not None:
        known = get_scorer_names()
        if scoring not in known:
            fail(f"scikit-learn has no scoring {scoring!r}{nearest(scoring, known)}")
        found: Callable[[Any, Any, Any], float] = get_scorer(scoring)
        return found
    if not (is_classifier(model) or is_regressor(model)):
        fail(
            f"{name} is neither a classifier nor a regressor, so what judges it must be said: give "
            'scoring=..., such as "adjusted_rand_score" for clusters, or hold out no rows by '
            "Dataset(test_fraction=0)"
        )
    return lambda model, x, y: model.score(x, y)


def judge(name: str, model: Any, table: Table, scorer: Callable[[Any, Any, Any], float]) -> float:
    """Return the score of the rows held out."""
    with telling(name, AttributeError), warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of too few rows, whose score is told to be no number
        return float(scorer(model, table.test_x, table.test_y))


def main() -> None:
    """Train, judge and keep a model."""
    name = given("estimator")
    model = make(name)
    is_judged = bool(given("dataset").get("test_fraction", 0.2))
    scorer = scorer_of(name, model) if is_judged else None
    task = "regression" if is_regressor(model) else None
    table = read_table("classification" if is_classifier(model) else task, name)
    with telling(name):
        model.fit(table.train_x, table.train_y)
    value = None if scorer is None else judge(name, model, table, scorer)
    joblib.dump(model, model_file(given("save_as")))
    keep(table, value, {})


if __name__ == "__main__":
    main()
