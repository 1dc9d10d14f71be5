"""Trains with XGBoost."""

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
from couler.steps.programs.table import Table, fail, given, parameters, read_table

try:
    import xgboost
except ImportError:
    fail("xgboost is not installed where this step runs: pip install xgboost-cpu")

TRAINING = ("num_boost_round", "early_stopping_rounds", "maximize", "verbose_eval")
TASKS = {
    "binary": "classification",
    "multi": "classification",
    "reg": "regression",
    "count": "regression",
}


def task_of(objective: str | None) -> str | None:
    """Return what labels an objective takes."""
    if objective is None:
        return None
    kind = str(objective).partition(":")[0]
    if kind not in TASKS:
        fail(
            f"the objective {objective!r} needs more than labels, such as groups of rows, or "
            f"XGBoost has none; take one of {', '.join(f'{one}:...' for one in TASKS)}"
        )
    return TASKS[kind]


def complete(options: dict[str, Any], table: Table) -> None:
    """Add what follows from the labels."""
    count = len(table.classes or ())
    if "objective" not in options:
        kind = "multi:softprob" if count > 2 else "binary:logistic"
        options["objective"] = kind if count else "reg:squarederror"
    objective = str(options["objective"])
    if objective.startswith("binary:") and count > 2:
        fail(f"{objective} is for two classes, but there are {count}. Take multi:softprob")
    if objective.startswith("multi:"):
        options.setdefault("num_class", count)
    options.setdefault("seed", given("dataset").get("seed", 0))


def predict(model: Any, rows: Any, objective: str, table: Table) -> Any:
    """Return the predicted classes or numbers."""
    predicted = model.predict(rows)
    if table.classes is None or objective == "multi:softmax":
        return predicted
    if predicted.ndim > 1:
        return predicted.argmax(axis=1)
    return predicted > (0 if objective == "binary:logitraw" else 0.5)


def main() -> None:
    """Train, judge and keep a model."""
    options = {**parameters("model"), **parameters("train")}
    training = {name: options.pop(name) for name in TRAINING if name in options}
    objective = options.get("objective")
    table = read_table(task_of(objective), str(objective))
    complete(options, table)
    scoring = given("scoring")
    own = options.get("eval_metric", [])
    if scoring is not None:
        own = own if isinstance(own, list) else [own]
        options["eval_metric"] = [*own, scoring]
    names = [re.sub(r"[\[\]<]", "_", name) for name in table.names]
    with telling("XGBoost"):
        train, test = (
            xgboost.DMatrix(x, label=y, feature_names=names)
            for x, y in ((table.train_x, table.train_y), (table.test_x, table.test_y))
        )
    is_judged = len(table.test_y) > 0
    history: History = {}
    with telling("XGBoost"):
        model = xgboost.train(
            options,
            train,
            evals=[(train, "train"), (test, "test")] if is_judged else [(train, "train")],
            evals_result=history,
            **{"verbose_eval": False, **training},
        )
    value = None
    if is_judged and scoring is not None:
        value = metric(history, scoring, "XGBoost", own)
    elif is_judged:
        value = score(table, predict(model, test, str(options["objective"]), table))
    with telling("XGBoost"):
        model.save_model(model_file(given("save_as")))
    keep(table, value, last_metrics(history))


if __name__ == "__main__":
    main()
