"""The rows that a data card stands for, as a step of the zoo reads them."""

from __future__ import annotations

import csv
import hashlib
import importlib.metadata
import io
import os
import typing as t
from pathlib import Path

from couler.errors import ConfigurationError, TuningError
from couler.state.home import Home
from couler.tuning.arrays import ARRAY_LABEL, read_arrays
from couler.tuning.cards import DataCard, DataSource

NEEDS_EXTRA = "real training needs scikit-learn: pip install 'couler[tuning]'"


class TrainingRows(t.NamedTuple):
    """Where rows are, as a `couler.Dataset` says it."""

    name: str | None
    file: str | None
    label: str | None
    features: list[str] | None
    delimiter: str | None
    digest: str
    """Of the content and of the version of scikit-learn: trials of others are not taken for it."""
    left_out: tuple[str, ...] = ()
    """Columns that are not trained on, since they hold no numbers."""


def rows_of(data: DataCard, home: Path | None) -> TrainingRows:
    """Return where the rows of a card are."""
    source = data.data
    if source is None:
        raise TuningError(
            f'the data card "{data.name}" does not say where the data are, so nothing can be '
            "trained on them. Add data: {file: PATH} or data: {name: digits}"
        )
    version = _version()
    if source.name is not None:
        return TrainingRows(source.name, None, None, None, None, f"scikit-learn {version}")
    path = Path(source.file or "").absolute()
    digest, label = _digest(path), data.label_space.column
    if path.suffix == ".npz":
        path = _as_csv(path, digest, home)
        label = label or ARRAY_LABEL
    return TrainingRows(
        None,
        str(path),
        label,
        _features(data, source),
        source.delimiter,
        f"{digest} scikit-learn {version}",
        _left_out(data, source),
    )


def _version() -> str:
    try:
        return importlib.metadata.version("scikit-learn")
    except importlib.metadata.PackageNotFoundError as error:
        raise ConfigurationError(NEEDS_EXTRA) from error


def _features(data: DataCard, source: DataSource) -> list[str] | None:
    """Return the columns of numbers where the card knows of others; None for all."""
    label = data.label_space.column
    others = [one for one in data.columns if one.name != label]
    is_whole = data.features is not None and len(others) == data.features
    if source.name is not None or not is_whole or all(one.type == "number" for one in others):
        return None
    return [one.name for one in others if one.type == "number"]


def _left_out(data: DataCard, source: DataSource) -> tuple[str, ...]:
    """Return the columns that `_features` does not name."""
    taken, label = _features(data, source), data.label_space.column
    if taken is None:
        return ()
    return tuple(one.name for one in data.columns if one.name not in (label, *taken))


def _digest(path: Path) -> str:
    try:
        with path.open("rb") as file:
            return hashlib.file_digest(file, "sha256").hexdigest()
    except OSError as error:
        raise TuningError(f"the data {path} cannot be read: {error.strerror}") from error


def _as_csv(path: Path, digest: str, home: Path | None) -> Path:
    """Return a CSV file with the rows of an npz file, which steps read from there."""
    folder = (home or Home.find(os.environ).root) / "tuning"
    made = folder / f"{digest[:32]}-quoted.csv"  # others were written without quotes
    if made.exists():
        return made
    arrays = read_arrays(path)
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow([*arrays.names, ARRAY_LABEL])
    for row, label in zip(arrays.x, arrays.y, strict=True):
        writer.writerow([*(repr(float(one)) for one in row), label])
    try:
        folder.mkdir(parents=True, exist_ok=True)
        begun = made.with_suffix(f".{os.getpid()}")
        begun.write_text(text.getvalue(), encoding="utf-8", newline="")
        begun.replace(made)
    except OSError as error:
        raise TuningError(f"{made} cannot be written: {error.strerror}") from error
    return made
