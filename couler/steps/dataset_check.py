"""Checks of the data that a step trains on, before it runs."""

from __future__ import annotations

import dataclasses
import functools
import os
import typing as t
from collections import Counter
from collections.abc import Iterator, Sequence

from couler.dsl.handles import Value
from couler.ir.diagnostics import did_you_mean
from couler.ir.verify.credentials import has_password, without_password
from couler.steps.dataset import Dataset
from couler.steps.parameters import STATIC, Parameter, Problem

NAMES = ("breast_cancer", "diabetes", "digits", "iris", "wine")
"""The sets of scikit-learn that are one table."""

_LATE = ("data", "source")
"""What can be a value of the workflow."""


def columns_of(dataset: Dataset) -> list[str] | None:
    """Return the names of the columns to learn from; None for all."""
    columns = dataset.feature_cols
    if isinstance(columns, str):
        return [name.strip() for name in columns.split(",")]
    return None if columns is None else list(columns)


def dataset_problems(dataset: Dataset) -> Iterator[Problem]:
    """Return what is wrong with a dataset; what follows from a mistake is not told again."""
    wrong_types = [
        problem
        for name, field in _fields().items()
        if (problem := field.problem(getattr(dataset, name))) is not None
    ]
    if wrong_types:
        yield from wrong_types
        return
    if isinstance(dataset.source, str) and has_password(dataset.source):
        yield Problem(
            "CLR467",
            f'the source "{without_password(dataset.source)}" has a password in it. Leave it out, '
            "and give the step the variable DATASET_URL by env= from an entry of a secret",
        )
    for message in (*_place_problems(dataset), *_column_problems(dataset)):
        yield Problem("CLR105", message)


@functools.cache
def _fields() -> dict[str, Parameter]:
    hints = t.get_type_hints(Dataset)
    hints["data"] = str | os.PathLike[str] | None
    hints["source"] = str | None
    return {
        one.name: Parameter(
            one.name,
            hints[one.name] if one.name in _LATE else t.Annotated[hints[one.name], STATIC],
            one.default,
            "",
        )
        for one in dataclasses.fields(Dataset)
        if one.name != "data"
    }


def _place_problems(dataset: Dataset) -> Iterator[str]:
    given = [name for name in ("table_name", "data", "name") if getattr(dataset, name) is not None]
    if len(given) != 1:
        told = " and ".join(given) or "nothing"
        yield f"it says {told}; say one of table_name, data and name"
        return
    data = dataset.data
    if data is not None and not isinstance(data, str | os.PathLike | Value):
        yield f"data is {data!r:.60}; it must be a file of another step, or the path of one"
    if dataset.name is not None and dataset.name not in NAMES:
        hint = did_you_mean(dataset.name, NAMES)
        yield f'there is no set "{dataset.name}"; there are: {", ".join(NAMES)}.{hint}'
    if dataset.source is not None and dataset.table_name is None:
        yield "source tells where a table is, so it goes with table_name"
    for name in ("format", "delimiter"):
        if getattr(dataset, name) is not None and data is None:
            yield f"{name} is that of a file, so it goes with data"
    if dataset.delimiter is not None and len(dataset.delimiter) != 1:
        yield f"the delimiter {dataset.delimiter!r} is not one character"


def _column_problems(dataset: Dataset) -> Iterator[str]:
    if not 0 <= dataset.test_fraction < 1:
        yield f"test_fraction is {dataset.test_fraction}; it goes from 0 to less than 1"
    if dataset.seed < 0:
        yield f"seed is {dataset.seed}; it is 0 or more"
    columns: Sequence[str] | None = columns_of(dataset)
    if columns is None:
        return
    twice = next((name for name, count in Counter(columns).items() if count > 1), None)
    if not columns or "" in columns:
        yield "feature_cols names no column, or an empty one; leave it out for all others"
    elif twice is not None:
        yield f'feature_cols names "{twice}" twice'
    elif dataset.label_col in columns:
        yield f'"{dataset.label_col}" is the label, so it cannot be a feature as well'
