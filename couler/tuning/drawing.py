"""Data cards that are drawn from data: from CSV, npz, or a set that comes with scikit-learn."""

from __future__ import annotations

import csv
import math
import typing as t
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from couler.errors import ConfigurationError, TuningError
from couler.ir.diagnostics import did_you_mean
from couler.steps.dataset_check import NAMES as SETS
from couler.tuning.arrays import ARRAY_LABEL, MOST_CELLS, read_arrays
from couler.tuning.cards import Column, DataCard, DataSource, LabelSpace
from couler.tuning.metrics import Metric

_MOST_COLUMNS = 10_000
_MOST_ROWS = 1_000_000
_COLUMNS_TOLD = 50
_CLASSES_TOLD = 100
_MOST_WHOLE_CLASSES = 20
"""Whole numbers of at most so many kinds are classes, as the steps of the zoo take them."""

_MOST_DISTINCT = 10_000
_NAME_LENGTH = 200

_SHIFT = 64
"""Sums are kept divided by two to the power of it, so that none of 1,000,000 rows overflows."""


def draw_data_card(
    path: Path,
    *,
    label: str | None = None,
    name: str | None = None,
    metric: str | None = None,
    delimiter: str | None = None,
) -> DataCard:
    """Return the card of the data in a file; nothing in it is run."""
    if path.suffix == ".npz":
        arrays = read_arrays(path)
        columns = [_Seen(one, arrays.x[:, index]) for index, one in enumerate(arrays.names)]
        columns.append(_Seen(ARRAY_LABEL, arrays.y))
        source = DataSource(file=str(path))
        return _card(columns, label or ARRAY_LABEL, name or path.stem, metric, source, str(path))
    if path.suffix not in (".csv", ".tsv"):
        raise TuningError(f"{path} is neither .csv, .tsv nor .npz, of which cards are drawn")
    found = _read_csv(path, delimiter)
    columns = list(found.columns.values())
    chosen = label or columns[-1].name
    source = DataSource(
        file=str(path), delimiter=found.delimiter if found.delimiter != "," else None
    )
    return _card(columns, chosen, name or path.stem, metric, source, str(path))


def draw_set_card(name: str, *, metric: str | None = None) -> DataCard:
    """Return the card of a set that comes with scikit-learn."""
    if name not in SETS:
        raise TuningError(
            f'scikit-learn brings no set "{name}"; there are: {", ".join(SETS)}.'
            f"{did_you_mean(name, SETS)}"
        )
    try:
        from sklearn import datasets
    except ImportError as error:
        raise ConfigurationError(
            "the sets of scikit-learn need it: pip install 'couler[tuning]'"
        ) from error
    bunch = getattr(datasets, f"load_{name}")()
    names = getattr(bunch, "feature_names", None)
    names = [f"x{index}" for index in range(bunch.data.shape[1])] if names is None else names
    columns = [_Seen(str(one), bunch.data[:, index]) for index, one in enumerate(names)]
    columns.append(_Seen("target", bunch.target))
    return _card(columns, "target", name, metric, DataSource(name=name), name)


def draw_array_card(x: t.Any, y: t.Any, *, name: str, metric: str | None = None) -> DataCard:
    """Return the card of rows that are arrays; it does not say where the data are."""
    columns = [_Seen(f"x{index}", x[:, index]) for index in range(x.shape[1])]
    columns.append(_Seen(ARRAY_LABEL, y))
    return _card(columns, ARRAY_LABEL, name, metric, None, name)


class _Seen:
    """What is known of a column after all of its values were seen once."""

    def __init__(self, name: str, values: Iterable[t.Any] = ()) -> None:
        self.name = name[:_NAME_LENGTH]
        self.rows = self.missing = self.texts = 0
        self.is_whole = True
        self.least, self.most, self.sum = math.inf, -math.inf, 0.0
        self.counts: Counter[str] = Counter()
        self.is_counted = True
        for value in values:
            self.add(value)

    def add(self, value: t.Any) -> None:
        """See one more value: a number, or a text that may be one."""
        self.rows += 1
        number = _number(value)
        if value in ("", None) or (number is not None and math.isnan(number)):
            self.missing += 1
            return
        if number is None or not math.isfinite(number):
            self.texts += 1
        else:
            self.least, self.most = min(self.least, number), max(self.most, number)
            self.sum += math.ldexp(number, -_SHIFT)
            self.is_whole = self.is_whole and number.is_integer()
        if self.is_counted:
            is_number = number is not None and number.is_integer()
            self.counts[str(int(number or 0)) if is_number else str(value)[:_NAME_LENGTH]] += 1
            self.is_counted = len(self.counts) <= _MOST_DISTINCT

    @property
    def type(self) -> t.Literal["number", "text", "empty"]:
        """What its values are."""
        if self.missing == self.rows:
            return "empty"
        return "text" if self.texts else "number"

    @property
    def has_classes(self) -> bool:
        """Whether its values can be classes: texts, or few whole numbers."""
        if self.type == "text":
            return self.is_counted
        return self.is_whole and self.is_counted and len(self.counts) <= _MOST_WHOLE_CLASSES

    def as_column(self) -> Column:
        """Return what a card tells of it."""
        told: dict[str, t.Any] = {}
        if self.type == "number":
            known = self.rows - self.missing
            mean = math.ldexp(self.sum / known, _SHIFT)
            figures = {"least": self.least, "most": self.most, "mean": mean}
            told = {what: float(f"{value:.6g}") for what, value in figures.items()}
        elif self.type == "text" and self.is_counted:
            told = {"distinct": len(self.counts)}
        return Column(name=self.name, type=self.type, missing=self.missing, **told)


def _number(value: t.Any) -> float | None:
    try:
        return float(value)
    except (TypeError, ValueError):
        return None


def _card(
    columns: Sequence[_Seen],
    label: str,
    name: str,
    metric: str | None,
    source: DataSource | None,
    where: str,
) -> DataCard:
    found = next((one for one in columns if one.name == label), None)
    if found is None:
        known = [one.name for one in columns]
        told = ", ".join(known[:20])
        raise TuningError(
            f'{where} has no column "{label}"; it has {told}.{did_you_mean(label, known)}'
        )
    features = [one for one in columns if one is not found]
    if not features:
        raise TuningError(f'{where} has no column besides the label "{label}"')
    if not found.rows:
        raise TuningError(f"{where} has no rows")
    if found.type == "empty":
        raise TuningError(f'{where}: the label "{label}" has no value in any row')
    space = _label_space(found)
    chosen = metric or ("accuracy" if space.kind == "classes" else "r2")
    try:
        judged = Metric.model_validate(chosen)
    except ValueError as error:
        raise TuningError(f"{_first_line(error)}") from error
    return DataCard(
        name=name[:_NAME_LENGTH],
        input_type="tabular",
        label_space=space,
        metric=judged,
        rows=found.rows,
        features=len(features),
        missing=sum(one.missing for one in features),
        columns=tuple(one.as_column() for one in features[:_COLUMNS_TOLD]),
        data=source,
    )


def _label_space(label: _Seen) -> LabelSpace:
    if not label.has_classes:
        column = label.as_column()
        if column.type != "number":
            return LabelSpace(kind="other", column=label.name)
        return LabelSpace(
            kind="number",
            column=label.name,
            least=column.least,
            most=column.most,
            mean=column.mean,
        )
    is_number = label.type == "number"
    ordered = sorted(label.counts, key=(lambda one: (float(one), one)) if is_number else None)
    told = ordered[:_CLASSES_TOLD]
    return LabelSpace(
        kind="classes",
        column=label.name,
        classes=tuple(told),
        counts=tuple(label.counts[one] for one in told),
        class_count=len(ordered),
    )


def _first_line(error: ValueError) -> str:
    found = getattr(error, "errors", None)
    return str(found()[0]["ctx"]["error"]) if found is not None else str(error)


@dataclass
class _Csv:
    delimiter: str
    columns: dict[str, _Seen] = field(default_factory=dict)


def _read_csv(path: Path, delimiter: str | None) -> _Csv:
    try:
        with path.open(newline="", encoding="utf-8-sig") as file:
            first = file.readline(1 << 20)
            file.seek(0)
            chosen = delimiter or next((one for one in (",", ";", "\t", "|") if one in first), ",")
            return _seen(path, chosen, csv.reader(file, delimiter=chosen))
    except OSError as error:
        raise TuningError(f"the data {path} cannot be read: {error.strerror}") from error
    except UnicodeDecodeError as error:
        raise TuningError(f"{path} is no text in UTF-8: {error}") from error
    except (csv.Error, TypeError) as error:
        raise TuningError(f"{path} cannot be read as CSV: {error}") from error


def _seen(path: Path, delimiter: str, lines: Iterator[list[str]]) -> _Csv:
    header = next((line for line in lines if line), None)
    if header is None:
        raise TuningError(f"{path} is empty")
    if len(header) > _MOST_COLUMNS:
        raise TuningError(f"{path} has {len(header):,} columns, above {_MOST_COLUMNS:,}")
    twice = next((one for one, count in Counter(header).items() if count > 1), None)
    if twice is not None:
        raise TuningError(f'{path} has two columns "{twice:.60}"')
    found = _Csv(delimiter, {one: _Seen(one) for one in header})
    columns = list(found.columns.values())
    most = min(_MOST_ROWS, MOST_CELLS // len(columns))
    for number, line in enumerate((one for one in lines if one), 1):
        if number > most:
            raise TuningError(
                f"{path} has more than {most:,} rows. Draw the card from fewer rows, and correct "
                "its rows"
            )
        if len(line) != len(columns):
            raise TuningError(
                f"{path}, row {number}: {len(line)} values, but {len(columns)} columns"
            )
        for column, value in zip(columns, line, strict=True):
            column.add(value)
    return found
