"""The data that a step trains on."""

from __future__ import annotations

import typing as t
from collections.abc import Sequence
from dataclasses import dataclass

from couler.operations.data import TabularCard

Task: t.TypeAlias = t.Literal["classification", "regression"]


@dataclass(frozen=True, kw_only=False)
class Dataset:
    """A table to train on: of a database, of a file, or one that comes with scikit-learn.

    Attributes
    ----------
    table_name
        Name of the table in a database.
    feature_cols
        Names of the columns to learn from, as a list or as text with commas; None for all others
        than the label.
    label_col
        Name of the column to predict; None for the last.
    data
        A file of another step, or the path of one where the step runs: CSV with a header, or
        Parquet.
    name
        A set of scikit-learn: `iris`, `digits`, `wine`, `breast_cancer` or `diabetes`.
    source
        Where the table is: a URL of SQLAlchemy, or a value of the workflow. By default the step's
        variable `DATASET_URL`, which can come from a secret.
    format
        Of the file, where its name does not say.
    delimiter
        Between the columns of CSV.
    task
        What the label is; by default classes where it has at most 20 whole numbers or is text.
    test_fraction
        Share of the rows that are held out and judge the model (from 0 to less than 1).
    seed
        Chooses those rows.
    card
        How many rows and columns there are, where that is known: estimates go by it, and nothing
        that runs does. The sets of scikit-learn need none.

    Examples
    --------
    >>> import couler
    >>> from couler.steps import sklearn
    >>> with couler.Workflow("flowers") as wf:
    ...     model = sklearn.train("LogisticRegression", couler.Dataset(name="iris"))
    ...     wf.output("accuracy", model.score)
    """

    table_name: str | None = None
    feature_cols: str | Sequence[str] | None = None
    label_col: str | None = None
    data: object = None
    name: str | None = None
    source: object = None
    format: t.Literal["csv", "parquet"] | None = None
    delimiter: str | None = None
    task: Task | None = None
    test_fraction: float = 0.2
    seed: int = 0
    card: TabularCard | None = None
