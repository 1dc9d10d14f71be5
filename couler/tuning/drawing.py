"""Data cards that are drawn from data: CSV, npz, or a set that comes with scikit-learn."""

from __future__ import annotations

import csv
import math
import typing as t
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path

from couler.errors import ConfigurationError, TuningError
from couler.ir.diagnostics import did_you_mean
from couler.steps.dataset_check import NAMES as SETS
from couler.tuning.arrays import ARRAY_LABEL, MOST_CELLS, numpy, read_arrays
from couler.tuning.cards import Column, DataCard, DataSource, LabelSpace
from couler.tuning.metrics import Metric

_MOST_COLUMNS = 10_000
_MOST_ROWS = 1_000_000
_COLUMNS_TOLD = 200
_CLASSES_TOLD = 100
_MOST_WHOLE_CLASSES = 20
"""Whole numbers of at most so many kinds are classes, as the steps of the zoo take them."""

_MOST_TEXT_CLASSES = 10_000
_NAME_LENGTH = 200

Values: t.TypeAlias = Sequence[float | str | None]
"""A column: numbers, texts that are none, None where a value is missing."""


def draw_data_card(
    path: Path,
    *,
    label: str | None = None,
    name: str | None = None,
    metric: str | None = None,
    delimiter: str | None = None,
) -> DataCard:
    """Return the card of the data in a file; nothing in it is run."""
    if path.suffix not in (".csv", ".tsv", ".npz"):
        raise TuningError(f"{path} is neither .csv, .tsv nor .npz, of which cards are drawn")
    if path.suffix == ".npz":
        delimiter = None
        arrays = read_arrays(path)
        columns = columns_of_arrays(arrays.x, arrays.y, arrays.names, ARRAY_LABEL)
    else:
        columns, delimiter = _read_csv(path, delimiter)
    source = DataSource(file=str(path), delimiter=delimiter if delimiter != "," else None)
    return draw_columns_card(columns, label, name or path.stem, metric, source, str(path))


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
    columns = columns_of_arrays(bunch.data, bunch.target, bunch.feature_names, "target")
    return draw_columns_card(columns, None, name, metric, DataSource(name=name), name)


def columns_of_arrays(x: t.Any, y: t.Any, names: Iterable[str], label: str) -> dict[str, Values]:
    """Return the columns of rows that are arrays, the label last."""
    columns = {str(one): x[:, index].tolist() for index, one in enumerate(names)}
    return {one: [*map(_value, values)] for one, values in {**columns, label: y.tolist()}.items()}


def _value(given: t.Any) -> float | str | None:
    try:
        number = float(given)
    except ValueError:
        return str(given)[:_NAME_LENGTH] or None
    if math.isnan(number):
        return None
    return number if math.isfinite(number) else str(given)


def draw_columns_card(
    columns: Mapping[str, Values],
    label: str | None,
    name: str,
    metric: str | None,
    source: DataSource | None,
    where: str,
) -> DataCard:
    """Return the card of columns, whose label is the last unless it is named."""
    label = label or [*columns][-1]
    if label not in columns:
        told = ", ".join([*columns][:20])
        raise TuningError(
            f'{where} has no column "{label}"; it has {told}.{did_you_mean(label, columns)}'
        )
    features = {one: values for one, values in columns.items() if one != label}
    if not features:
        raise TuningError(f'{where} has no column besides the label "{label}"')
    labels = columns[label]
    if not labels:
        raise TuningError(f"{where} has no rows")
    if all(one is None for one in labels):
        raise TuningError(f'{where}: the label "{label}" has no value in any row')
    space = _label_space(label, labels)
    chosen = metric or ("accuracy" if space.kind == "classes" else "r2")
    try:
        judged = Metric.model_validate(chosen)
    except ValueError as error:
        raise TuningError(f"{_first_line(error)}") from error
    told_columns = [*features.items()][:_COLUMNS_TOLD]
    return DataCard(
        name=name[:_NAME_LENGTH],
        input_type="tabular",
        label_space=space,
        metric=judged,
        rows=len(labels),
        features=len(features),
        missing=sum(one is None for values in features.values() for one in values),
        columns=tuple(_column(one, values, labels, space) for one, values in told_columns),
        data=source,
    )


def _column(name: str, values: Values, labels: Values, space: LabelSpace) -> Column:
    missing = sum(one is None for one in values)
    kind: t.Literal["number", "text", "empty"] = "number"
    told: dict[str, t.Any] = {}
    if missing == len(values):
        kind = "empty"
    elif any(isinstance(one, str) for one in values):
        kind, told = "text", {"distinct": len({*values} - {None})}
    else:
        pairs = [pair for pair in zip(values, labels, strict=True) if None not in pair]
        told = {**_figures(values), "association": _association(pairs, space)}
    return Column(name=name[:_NAME_LENGTH], type=kind, missing=missing, **told)


def _figures(values: Values) -> dict[str, t.Any]:
    """Return the figures of numbers; those that no float can hold are left out."""
    np = numpy()
    known = np.array([one for one in values if one is not None], dtype=float)
    with np.errstate(over="ignore", invalid="ignore"):
        figures = {
            "least": known.min(),
            "most": known.max(),
            "mean": known.mean(),
            "std": known.std(),
        }
    return {name: float(f"{value:.4g}") for name, value in figures.items() if np.isfinite(value)}


def _association(pairs: Sequence[tuple[t.Any, t.Any]], space: LabelSpace) -> float | None:
    """Return Pearson's correlation, or the share of variance that is between the classes."""
    np = numpy()
    if space.kind == "other" or not pairs:
        return None
    x = np.array([one for one, _ in pairs], dtype=float)
    with np.errstate(all="ignore"):
        if space.kind == "number":
            found = np.corrcoef(x, np.array([one for _, one in pairs], dtype=float))[0, 1]
        else:
            _, codes = np.unique([str(one) for _, one in pairs], return_inverse=True)
            counts = np.bincount(codes)
            means = np.bincount(codes, x) / counts
            found = (counts * (means - x.mean()) ** 2).sum() / ((x - x.mean()) ** 2).sum()
    return float(f"{found:.3g}") if np.isfinite(found) else None


def _label_space(name: str, values: Values) -> LabelSpace:
    known = [one for one in values if one is not None]
    name = name[:_NAME_LENGTH]
    texts = any(isinstance(one, str) for one in known)
    is_whole = not texts and all(float(one).is_integer() for one in known)
    counts = Counter(
        str(int(one)) if isinstance(one, float) and one.is_integer() else str(one) for one in known
    )
    if texts and len(counts) > _MOST_TEXT_CLASSES:
        return LabelSpace(kind="other", column=name)
    if not texts and not (is_whole and len(counts) <= _MOST_WHOLE_CLASSES):
        return LabelSpace(kind="number", column=name, **_figures(known))
    ordered = sorted(counts, key=None if texts else lambda one: (float(one), one))
    told = ordered[:_CLASSES_TOLD]
    return LabelSpace(
        kind="classes",
        column=name,
        classes=tuple(told),
        counts=tuple(counts[one] for one in told),
        class_count=len(ordered),
    )


def _first_line(error: ValueError) -> str:
    found = getattr(error, "errors", None)
    return str(found()[0]["ctx"]["error"]) if found is not None else str(error)


def _read_csv(path: Path, delimiter: str | None) -> tuple[dict[str, Values], str]:
    try:
        with path.open(newline="", encoding="utf-8-sig") as file:
            first = file.readline(1 << 20)
            file.seek(0)
            chosen = delimiter or next((one for one in (",", ";", "\t", "|") if one in first), ",")
            return _columns_of_lines(path, csv.reader(file, delimiter=chosen)), chosen
    except OSError as error:
        raise TuningError(f"the data {path} cannot be read: {error.strerror}") from error
    except UnicodeDecodeError as error:
        raise TuningError(f"{path} is no text in UTF-8: {error}") from error
    except (csv.Error, TypeError) as error:
        raise TuningError(f"{path} cannot be read as CSV: {error}") from error


def _columns_of_lines(path: Path, lines: Iterator[list[str]]) -> dict[str, Values]:
    header = next((line for line in lines if line), None)
    if header is None:
        raise TuningError(f"{path} is empty")
    if len(header) > _MOST_COLUMNS:
        raise TuningError(f"{path} has {len(header):,} columns, above {_MOST_COLUMNS:,}")
    twice = next((one for one, count in Counter(header).items() if count > 1), None)
    if twice is not None:
        raise TuningError(f'{path} has two columns "{twice:.60}"')
    columns: list[list[float | str | None]] = [[] for _ in header]
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
            column.append(_value(value))
    return dict(zip(header, columns, strict=True))
