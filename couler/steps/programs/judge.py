"""Tells how good a model is, and keeps what a step gives besides the model."""

from __future__ import annotations

import contextlib
import json
import math
import os
import sys
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from couler.steps.programs.table import Table, fail, nearest

History = dict[str, dict[str, list[float]]]
"""Metrics by the set of rows (`train`, `test`) and by name, of every round."""


@contextlib.contextmanager
def telling(what: str, *more: type[Exception]) -> Iterator[None]:
    """Tell in one line what a library refuses."""
    refused: tuple[type[Exception], ...] = (ValueError, TypeError, *more)
    try:
        yield
    except refused as error:
        # XGBoost tells the place in its source before, and where it was called from behind.
        fail(f"{what}: {str(error).strip().rpartition('Check failed: ')[2]}")


def score(table: Table, predicted: Any) -> float:
    """Return the share of right classes, or R squared, of the rows held out."""
    if table.classes is not None:
        return float(np.mean(predicted == table.test_y))
    residual = np.sum((table.test_y - predicted) ** 2)
    total = np.sum((table.test_y - np.mean(table.test_y)) ** 2)
    return float(1 - residual / total) if total else math.nan


def metric(history: History, name: str, library: str, own: Sequence[str]) -> float:
    """Return a metric of the rows held out, by its name or, if it is the only one, an alias."""
    found = history["test"]
    others = [one for one in found if one not in own]
    if name not in found and len(others) == 1:
        name = others[0]
    if name not in found:
        fail(
            f"{library} calls no metric {name!r}; it has: {', '.join(found)}{nearest(name, found)}"
        )
    return float(found[name][-1])


def last_metrics(history: History) -> dict[str, float]:
    """Return the metrics of the last round."""
    return {
        f"{part}-{name}": float(values[-1])
        for part, by_name in history.items()
        for name, values in by_name.items()
    }


def keep(table: Table, value: float | None, metrics: dict[str, float]) -> None:
    """Write the outputs of the step other than the model; without rows held out, no score."""
    told: dict[str, Any] = {
        name: one if math.isfinite(one) else None for name, one in metrics.items()
    }
    outputs: dict[str, Any] = {"metrics": {**told, "train_rows": len(table.train_y)}}
    if value is not None:
        if not math.isfinite(value):
            fail(
                f"the score of the {len(table.test_y)} rows held out is no number. Hold out more "
                "by Dataset(test_fraction=...)"
            )
        outputs = {"score": value, "metrics": {"score": value, **outputs["metrics"]}}
    os.makedirs("outputs", exist_ok=True)
    for name, output in outputs.items():
        with open(os.path.join("outputs", name), "w", encoding="utf-8") as file:
            json.dump(output, file)
    if value is not None:
        sys.stdout.write(f"score {value:.4f}\n")


def model_file(name: str) -> str:
    """Return where a model is written to; its folder is there then."""
    os.makedirs(os.path.dirname(name) or ".", exist_ok=True)
    return name
