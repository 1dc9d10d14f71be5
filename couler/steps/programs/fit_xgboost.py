"""Trains with XGBoost."""

from __future__ import annotations

import re
import sys

import numpy as np

from couler.steps.programs.table import given, keep, parameters, read_table, score

try:
    import xgboost
except ImportError:
    sys.exit("xgboost is not installed where this step runs: pip install xgboost-cpu")

TRAINING = ("num_boost_round", "early_stopping_rounds", "maximize", "verbose_eval")


def main() -> None:
    """Train, judge and keep a model."""
    table = read_table()
    options = {**parameters("model"), **parameters("train")}
    training = {name: options.pop(name) for name in TRAINING if name in options}
    if "objective" not in options:
        kinds = {True: "multi:softprob", False: "binary:logistic"}
        many = table.classes is not None and len(table.classes) > 2
        options["objective"] = "reg:squarederror" if table.classes is None else kinds[many]
    if str(options["objective"]).startswith("multi:"):
        options.setdefault("num_class", len(table.classes or ()))
    options.setdefault("seed", given("dataset").get("seed", 0))
    names = [re.sub(r"[\[\]<]", "_", name) for name in table.names]
    train, test = (
        xgboost.DMatrix(x, label=y, feature_names=names)
        for x, y in ((table.train_x, table.train_y), (table.test_x, table.test_y))
    )
    judged = [(train, "train"), (test, "test")] if len(table.test_y) else [(train, "train")]
    history: dict[str, dict[str, list[float]]] = {}
    model = xgboost.train(
        options,
        train,
        evals=judged,
        evals_result=history,
        **{"verbose_eval": False, **training},
    )
    predicted = model.predict(test) if len(table.test_y) else np.array([])
    if table.classes is not None and predicted.size:
        predicted = predicted.argmax(axis=1) if predicted.ndim > 1 else predicted > 0.5
    metrics = {
        f"{part}-{name}": float(values[-1])
        for part, by_name in history.items()
        for name, values in by_name.items()
    }
    model.save_model(given("save_as"))
    keep(table, score(table, predicted), metrics)


if __name__ == "__main__":
    main()
