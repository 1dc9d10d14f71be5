"""Reads the table that a step trains on, and tells how good a model is."""

from __future__ import annotations

import csv
import json
import os
import sys
from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

import numpy as np


class Table(NamedTuple):
    """Rows to learn from and rows to judge by."""

    names: list[str]
    train_x: Any
    train_y: Any
    test_x: Any
    test_y: Any
    classes: list[Any] | None
    """The labels, if they are classes: label i of y is classes[i]."""


def given(name: str, default: Any = None) -> Any:
    """Return an input of the step that is JSON."""
    found = text(name)
    return default if found is None else json.loads(found)


def text(name: str) -> str | None:
    """Return an input of the step that is text."""
    return os.environ.get("COULER_INPUT_" + name)


def parameters(kind: str) -> dict[str, Any]:
    """Return the parameters of one kind: inputs whose names begin with it."""
    start = f"COULER_INPUT_{kind}_"
    return {
        key[len(start) :]: json.loads(os.environ[key])
        for key in os.environ
        if key.startswith(start)
    }


def read_table() -> Table:
    """Return the table that the input `dataset` describes."""
    spec = given("dataset")
    if spec.get("name") is not None:
        columns = _named(spec["name"])
    elif spec.get("table_name") is not None:
        columns = _from_database(spec["table_name"], text("source") or spec.get("source"))
    else:
        columns = _from_file(text("data") or spec["data"], spec)
    label = spec.get("label_col") or list(columns)[-1]
    names = spec.get("feature_cols") or [name for name in columns if name != label]
    for name in (*names, label):
        if name not in columns:
            sys.exit(f"the data has no column {name!r}; it has: {', '.join(columns)}")
    x = np.column_stack([_numbers(name, columns[name]) for name in names])
    y, classes = _labels(columns[label], spec.get("task"))
    return _split(names, x, y, classes, spec.get("test_fraction", 0.2), spec.get("seed", 0))


def _split(
    names: list[str], x: Any, y: Any, classes: list[Any] | None, fraction: float, seed: int
) -> Table:
    order = np.random.default_rng(seed).permutation(len(y))
    held_out = round(len(y) * fraction)
    test, train = order[:held_out], order[held_out:]
    if len(train) == 0:
        sys.exit(f"no rows are left to train on: there are {len(y)}, test_fraction is {fraction}")
    return Table(names, x[train], y[train], x[test], y[test], classes)


def _named(name: str) -> dict[str, Any]:
    from sklearn import datasets

    load = getattr(datasets, f"load_{name}", None)
    if load is None:
        known = [one[5:] for one in dir(datasets) if one.startswith("load_")]
        sys.exit(f"scikit-learn has no data set {name!r}; it has: {', '.join(known)}")
    bunch = load()
    names = getattr(bunch, "feature_names", None)
    if names is None:
        names = [f"x{index}" for index in range(bunch.data.shape[1])]
    columns = {str(key): bunch.data[:, index] for index, key in enumerate(names)}
    return {**columns, "target": bunch.target}


def _from_file(path: str, spec: dict[str, Any]) -> dict[str, Any]:
    if (spec.get("format") or ("parquet" if path.endswith(".parquet") else "csv")) == "parquet":
        import pyarrow.parquet as parquet

        table = parquet.read_table(path)
        return {name: table.column(name).to_pylist() for name in table.column_names}
    with open(path, newline="", encoding="utf-8") as file:
        rows = list(csv.reader(file, delimiter=spec.get("delimiter") or ","))
    if len(rows) < 2:
        sys.exit(f"{path} has no rows below its header")
    return {name: [row[index] for row in rows[1:]] for index, name in enumerate(rows[0])}


def _from_database(table: str, source: str | None) -> dict[str, Any]:
    url = source or os.environ.get("DATASET_URL")
    if not url:
        sys.exit(
            f"where the table {table!r} is has not been said: give Dataset(source=...), or the "
            "variable DATASET_URL of the step"
        )
    import sqlalchemy

    engine = sqlalchemy.create_engine(url)
    found = sqlalchemy.Table(table, sqlalchemy.MetaData(), autoload_with=engine)
    with engine.connect() as connection:
        rows = connection.execute(sqlalchemy.select(found)).all()
    return {column.name: [row[index] for row in rows] for index, column in enumerate(found.columns)}


def _numbers(name: str, values: Iterable[Any]) -> Any:
    try:
        return np.array([np.nan if one in ("", None) else float(one) for one in values])
    except (TypeError, ValueError) as error:
        sys.exit(f"the column {name!r} is a feature, but holds more than numbers: {error}")


def _labels(values: Sequence[Any], task: str | None) -> tuple[Any, list[Any] | None]:
    """Return labels as numbers, and the classes that they stand for, if they are classes."""
    numbers = _if_numbers(values)
    if task is None:
        is_class = numbers is None or (
            len(set(numbers)) <= 20 and all(one == int(one) for one in numbers)
        )
        task = "classification" if is_class else "regression"
    if task == "regression":
        if numbers is None:
            sys.exit("the label of a regression must be a number")
        return np.array(numbers), None
    classes = sorted(set(values if numbers is None else numbers))
    place = {one: index for index, one in enumerate(classes)}
    return np.array([place[one] for one in (values if numbers is None else numbers)]), classes


def _if_numbers(values: Sequence[Any]) -> list[float] | None:
    try:
        return [float(one) for one in values]
    except (TypeError, ValueError):
        return None


def score(table: Table, predicted: Any) -> float:
    """Return the share of right classes, or R squared; of no rows it is 0."""
    if len(table.test_y) == 0:
        return 0.0
    if table.classes is not None:
        return float(np.mean(predicted == table.test_y))
    residual = np.sum((table.test_y - predicted) ** 2)
    total = np.sum((table.test_y - np.mean(table.test_y)) ** 2)
    return float(1 - residual / total) if total else 0.0


def keep(table: Table, value: float, metrics: dict[str, float]) -> None:
    """Write the outputs of the step other than the model."""
    outputs = {
        "score": value,
        "metrics": {"score": value, **metrics, "train_rows": len(table.train_y)},
    }
    os.makedirs("outputs", exist_ok=True)
    for name, output in outputs.items():
        with open(os.path.join("outputs", name), "w", encoding="utf-8") as file:
            json.dump(output, file)
    sys.stdout.write(f"score {value:.4f}\n")
