"""Reads the table that a step trains on."""

from __future__ import annotations

import csv
import difflib
import json
import math
import os
import sys
from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple, NoReturn

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


def fail(message: object) -> NoReturn:
    """End the step with the first line of a message."""
    sys.exit((str(message).strip().splitlines() or ["it failed"])[0])


def nearest(name: str, known: Iterable[str]) -> str:
    """Return a hint that names the nearest known name, or nothing."""
    near = difflib.get_close_matches(name, list(known), n=1)
    return f". Did you mean {near[0]}?" if near else ""


def first_double(names: Iterable[str]) -> str | None:
    """Return the first name that is there more than once, or None."""
    return next((name for name, count in Counter(names).items() if count > 1), None)


def read_table(task: str | None = None, reason: str = "") -> Table:
    """Return the table that the input `dataset` describes.

    Parameters
    ----------
    task
        What is trained takes only such labels; None for what the labels are.
    reason
        What is trained.
    """
    spec = given("dataset")
    stated = spec.get("task")
    if task is not None and stated not in (None, task):
        fail(f"{reason} is for {task}, but the Dataset says task={stated!r}")
    columns = _read_columns(spec)
    label = spec.get("label_col") or list(columns)[-1]
    names = spec.get("feature_cols") or [name for name in columns if name != label]
    for name in (*names, label):
        if name not in columns:
            known = ", ".join(columns)
            fail(f"the data has no column {name!r}; it has: {known}{nearest(name, columns)}")
    if not names:
        fail(f"the data has no column besides the label {label!r}, so nothing to learn from")
    if not len(columns[label]):
        fail("the data has no rows")
    x = np.column_stack([_numbers(name, columns[name]) for name in names])
    y, classes = _labels(label, columns[label], task or stated)
    return _split(names, x, y, classes, spec.get("test_fraction", 0.2), spec.get("seed", 0))


def _read_columns(spec: dict[str, Any]) -> dict[str, Any]:
    if spec.get("name") is not None:
        return _named(spec["name"])
    if spec.get("table_name") is not None:
        return _from_database(spec["table_name"], text("source") or spec.get("source"))
    path = text("data") or spec["data"]
    kind = spec.get("format") or ("parquet" if path.endswith(".parquet") else "csv")
    try:
        return _from_parquet(path) if kind == "parquet" else _from_csv(path, spec.get("delimiter"))
    except FileNotFoundError:
        fail(f"there is no file {path!r} where this step runs")
    except (OSError, ValueError, csv.Error) as error:
        fail(f"{path} cannot be read as {kind}: {error}")


def _split(
    names: list[str], x: Any, y: Any, classes: list[Any] | None, fraction: float, seed: int
) -> Table:
    order = np.random.default_rng(seed).permutation(len(y))
    held_out = round(len(y) * fraction) or (1 if fraction else 0)
    test, train = order[:held_out], order[held_out:]
    if len(train) == 0:
        fail(f"no rows are left to train on: there are {len(y)}, test_fraction is {fraction}")
    return Table(names, x[train], y[train], x[test], y[test], classes)


def _named(name: str) -> dict[str, Any]:
    try:
        from sklearn import datasets
    except ImportError:
        fail("scikit-learn is not installed where this step runs: pip install scikit-learn")
    bunch = getattr(datasets, f"load_{name}")()
    names = getattr(bunch, "feature_names", None)
    if names is None:
        names = [f"x{index}" for index in range(bunch.data.shape[1])]
    columns = {str(key): bunch.data[:, index] for index, key in enumerate(names)}
    return {**columns, "target": bunch.target}


def _from_parquet(path: str) -> dict[str, Any]:
    try:
        import pyarrow.parquet as parquet
    except ImportError:
        fail("pyarrow, which reads Parquet, is not installed where this step runs")
    table = parquet.read_table(path)
    return {name: table.column(name).to_pylist() for name in table.column_names}


def _from_csv(path: str, delimiter: str | None) -> dict[str, Any]:
    with open(path, newline="", encoding="utf-8-sig") as file:
        reader = csv.reader(file, delimiter=delimiter or ",")
        rows = [(reader.line_num, row) for row in reader if row]
    if len(rows) < 2:
        fail(f"{path} has no rows below its header" if rows else f"{path} is empty")
    header = rows[0][1]
    if len(header) == 1 and (other := next((one for one in ";\t|" if one in header[0]), None)):
        fail(f"{path} has one column, {header[0]!r}. Did you mean Dataset(delimiter={other!r})?")
    if (twice := first_double(header)) is not None:
        fail(f"{path} has two columns {twice!r}")
    for line, row in rows:
        if len(row) != len(header):
            fail(f"{path}, line {line}: {len(row)} values, but {len(header)} columns")
    return {name: [row[index] for _, row in rows[1:]] for index, name in enumerate(header)}


def _from_database(table: str, source: str | None) -> dict[str, Any]:
    url = source or os.environ.get("DATASET_URL")
    if not url:
        fail(
            f"where the table {table!r} is has not been said: give Dataset(source=...), or the "
            "variable DATASET_URL of the step"
        )
    try:
        import sqlalchemy
    except ImportError:
        fail("sqlalchemy is not installed where this step runs: pip install sqlalchemy")
    errors = sqlalchemy.exc
    try:
        engine = sqlalchemy.create_engine(url)
        found = sqlalchemy.Table(table, sqlalchemy.MetaData(), autoload_with=engine)
        with engine.connect() as connection:
            rows = connection.execute(sqlalchemy.select(found)).all()
    except ImportError as error:
        fail(f"the driver of the database is not installed where this step runs: {error}")
    except errors.NoSuchTableError:
        known = sqlalchemy.inspect(engine).get_table_names()
        told = ", ".join(known) or "none"
        fail(f"the database has no table {table!r}; it has: {told}{nearest(table, known)}")
    except errors.ArgumentError as error:  # an unreadable URL is not shown: it may hold a password
        is_dialect = isinstance(error, errors.NoSuchModuleError)
        fail(error if is_dialect else "where the table is, is no URL of SQLAlchemy")
    except errors.SQLAlchemyError as error:
        fail(f"the database: {getattr(error, 'orig', None) or error}")
    return {column.name: [row[index] for row in rows] for index, column in enumerate(found.columns)}


def _numbers(name: str, values: Iterable[Any]) -> Any:
    found = []
    for row, value in enumerate(values, 1):
        try:
            found.append(np.nan if value in ("", None) else float(value))
        except (TypeError, ValueError):
            fail(
                f"the column {name!r} is a feature, but {value!r} in row {row} is no number. "
                "Leave it out of feature_cols, or give it numbers"
            )
    return np.array(found)


def _labels(name: str, values: Sequence[Any], task: str | None) -> tuple[Any, list[Any] | None]:
    """Return labels as numbers, and the classes that they stand for, if they are classes."""
    missing = sum(one is None or one == "" or one != one for one in values)
    if missing:
        fail(f"the label {name!r} is missing in {missing} of {len(values)} rows")
    numbers = _if_numbers(values)
    if task is None:
        is_class = numbers is None or (
            len(set(numbers)) <= 20 and all(one == int(one) for one in numbers)
        )
        task = "classification" if is_class else "regression"
    if task == "regression":
        if numbers is None:
            fail(f"the label {name!r} is to be predicted as a number, but it holds text")
        return np.array(numbers), None
    found = set(values if numbers is None else numbers)
    if len(found) < 2:
        fail(f"the label {name!r} is {found.pop()!r} in all rows, so there is nothing to learn")
    classes = sorted(found, key=None if numbers is not None else str)
    place = {one: index for index, one in enumerate(classes)}
    return np.array([place[one] for one in (values if numbers is None else numbers)]), classes


def _if_numbers(values: Sequence[Any]) -> list[float] | None:
    try:
        found = [float(one) for one in values]
    except (TypeError, ValueError):
        return None
    return found if all(map(math.isfinite, found)) else None
