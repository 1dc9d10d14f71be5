"""Trains with LightGBM."""

from __future__ import annotations

import re
import sys

import numpy as np

from couler.steps.programs.table import given, keep, parameters, read_table, score

try:
    import lightgbm
except ImportError:
    sys.exit("lightgbm is not installed where this step runs: pip install lightgbm")

TRAINING = ("num_boost_round", "keep_training_booster")


def main() -> None:
    """Train, judge and keep a model."""
    table = read_table()
    options = {**parameters("model"), **parameters("train")}
    training = {name: options.pop(name) for name in TRAINING if name in options}
    many = table.classes is not None and len(table.classes) > 2
    if "objective" not in options:
        classified = "multiclass" if many else "binary"
        options["objective"] = "regression" if table.classes is None else classified
    if str(options["objective"]).startswith("multiclass"):
        options.setdefault("num_class", len(table.classes or ()))
    options.setdefault("seed", given("dataset").get("seed", 0))
    options.setdefault("verbosity", -1)
    names = [re.sub(r"\W", "_", name) for name in table.names]
    train = lightgbm.Dataset(table.train_x, label=table.train_y, feature_name=names)
    sets, judged = [train], ["train"]
    if len(table.test_y):
        sets.append(lightgbm.Dataset(table.test_x, label=table.test_y, reference=train))
        judged.append("test")
    history: dict[str, dict[str, list[float]]] = {}
    model = lightgbm.train(
        options,
        train,
        valid_sets=sets,
        valid_names=judged,
        callbacks=[lightgbm.record_evaluation(history)],
        **training,
    )
    predicted = model.predict(table.test_x) if len(table.test_y) else np.array([])
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
