"""Trains with LightGBM."""

from __future__ import annotations

import re
from typing import Any

from couler.steps.programs.judge import (
    History,
    keep,
    last_metrics,
    metric,
    model_file,
    score,
    telling,
)
from couler.steps.programs.table import Table, fail, given, nearest, parameters, read_table

try:
    import lightgbm
except ImportError:
    fail("lightgbm is not installed where this step runs: pip install lightgbm")
except OSError as error:
    fail(f"lightgbm cannot be loaded where this step runs, as a rule for want of OpenMP: {error}")

TRAINING = ("num_boost_round", "keep_training_booster")
OBJECTIVE_NAMES = ("objective", "objective_type", "app", "application", "loss")
METRIC_NAMES = ("metric", "metrics", "metric_types")
ONE_OF_MANY = ("multiclass", "softmax", "multiclassova", "multiclass_ova", "ova", "ovr")
NUMBERS = (
    *("regression", "regression_l2", "l2", "mean_squared_error", "mse"),
    *("l2_root", "root_mean_squared_error", "rmse"),
    *("regression_l1", "l1", "mean_absolute_error", "mae"),
    *("huber", "fair", "poisson", "quantile", "gamma", "tweedie"),
    *("mape", "mean_absolute_percentage_error"),
    *("cross_entropy", "xentropy", "cross_entropy_lambda", "xentlambda"),
)


def task_of(objective: str | None) -> str | None:
    """Return what labels an objective takes."""
    if objective is None:
        return None
    known = ("binary", *ONE_OF_MANY, *NUMBERS)
    if objective not in known:
        fail(
            f"the objective {objective!r} needs more than labels, such as groups of rows, or "
            f"LightGBM has none{nearest(str(objective), known)}"
        )
    return "regression" if objective in NUMBERS else "classification"


def complete(options: dict[str, Any], table: Table) -> None:
    """Add what follows from the labels."""
    count = len(table.classes or ())
    if "objective" not in options:
        kind = "multiclass" if count > 2 else "binary"
        options["objective"] = kind if count else "regression"
    if options["objective"] == "binary" and count > 2:
        fail(f"binary is for two classes, but there are {count}. Take multiclass")
    if options["objective"] in ONE_OF_MANY:
        options.setdefault("num_class", count)
    options.setdefault("seed", given("dataset").get("seed", 0))
    options.setdefault("verbosity", 0)


def one_name(options: dict[str, Any], names: tuple[str, ...]) -> None:
    """Leave a parameter that has several names only the first of them."""
    stated = [name for name in names if name in options]
    if len(stated) > 1:
        fail(f"{' and '.join(stated)} are the same parameter of LightGBM. Remove one")
    if stated:
        options[names[0]] = options.pop(stated[0])


def predict(model: Any, table: Table) -> Any:
    """Return the predicted classes or numbers."""
    predicted = model.predict(table.test_x)
    if table.classes is None:
        return predicted
    return predicted.argmax(axis=1) if predicted.ndim > 1 else predicted > 0.5


def main() -> None:
    """Train, judge and keep a model."""
    options = {**parameters("model"), **parameters("train")}
    training = {name: options.pop(name) for name in TRAINING if name in options}
    one_name(options, OBJECTIVE_NAMES)
    one_name(options, METRIC_NAMES)
    objective = options.get("objective")
    table = read_table(task_of(objective), str(objective))
    complete(options, table)
    scoring = given("scoring")
    own = options.get("metric", [])
    if scoring is not None:
        own = own.split(",") if isinstance(own, str) else own
        options["metric"] = [*own, scoring]
    names = [re.sub(r"\W", "_", name) for name in table.names]
    is_judged = len(table.test_y) > 0
    history: History = {}
    with telling("LightGBM", lightgbm.basic.LightGBMError):
        train = lightgbm.Dataset(table.train_x, label=table.train_y, feature_name=names)
        sets, judged = [train], ["train"]
        if is_judged:
            sets.append(lightgbm.Dataset(table.test_x, label=table.test_y, reference=train))
            judged.append("test")
        model = lightgbm.train(
            options,
            train,
            valid_sets=sets,
            valid_names=judged,
            callbacks=[lightgbm.record_evaluation(history)],
            **training,
        )
    value = None
    if is_judged and scoring is not None:
        value = metric(history, scoring, "LightGBM", own)
    elif is_judged:
        value = score(table, predict(model, table))
    model.save_model(model_file(given("save_as")))
    keep(table, value, last_metrics(history))


if __name__ == "__main__":
    main()
