"""Predicted training logs: what a model is asked for, and whether it can be one."""

from __future__ import annotations

import math
import typing as t

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field

from couler.tuning.metrics import Metric
from couler.tuning.space import short

__all__ = ["LogPoint", "PredictedLog", "problems_of_log"]

LEAST_POINTS = 3
MOST_POINTS = 200
MOST_STEP = 10**9

NOT_NEGATIVE = (
    "absolute",
    "cross_entropy",
    "crossentropy",
    "deviance",
    "hinge",
    "huber",
    "log_loss",
    "logloss",
    "logistic",
    "mae",
    "mape",
    "mse",
    "rmse",
    "squared",
)
"""Losses with one of these in their names are never below 0; others, such as a log-likelihood of
densities, can be."""


def _whole(value: object) -> object:
    """Return 3 for 3.0, which JSON does not tell apart; all else as it is."""
    return int(value) if isinstance(value, float) and value.is_integer() else value


class LogPoint(BaseModel):
    """A line of a training log: what holds after a step of training."""

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True)

    step: t.Annotated[
        int,
        BeforeValidator(_whole),
        Field(description="number of the epoch or iteration, from 1 on"),
    ]
    train_loss: float
    validation_loss: float
    train_metric: float
    validation_metric: float


class PredictedLog(BaseModel):
    """A training log as a language model predicts it."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    reason: t.Annotated[str, Field(description="why training would go so, in one or two sentences")]
    metric: t.Annotated[str, Field(description="name of the metric, as in the data card")]
    loss: t.Annotated[str, Field(description="name of the loss")]
    unit: t.Literal["epoch", "iteration"]
    points: tuple[LogPoint, ...]

    def performance(self) -> float:
        """Return what the log says of the trained model: the last validation metric."""
        return self.points[-1].validation_metric


def problems_of_log(log: PredictedLog, metric: Metric, *, loss: str = "") -> list[str]:
    """Return why a predicted log cannot be one, each in words; nothing if it can."""
    found: list[str] = []
    if _plain(log.metric) != _plain(metric.name):
        found.append(f'its metric is "{log.metric:.60}", not {metric.name}, that of the data card')
    if len(log.points) < LEAST_POINTS:
        found.append(f"it has {len(log.points)} points, and {LEAST_POINTS} is the least")
    if len(log.points) > MOST_POINTS:
        return [*found, f"it has {len(log.points)} points, and {MOST_POINTS} is the most"]
    must_not_be_negative = any(one in _plain(loss or log.loss) for one in NOT_NEGATIVE)
    before = 0
    for number, point in enumerate(log.points, 1):
        where = f"point {number}"
        if point.step > MOST_STEP:
            found.append(f"{where}: step {short(point.step)} is above {MOST_STEP:,}")
        elif point.step <= before:
            after = f"does not come after {short(before)}" if before else "is below 1"
            found.append(f"{where}: step {short(point.step)} {after}")
        before = max(before, point.step)
        for part in ("train", "validation"):
            value = getattr(point, f"{part}_loss")
            if not math.isfinite(value):
                found.append(f"{where}: {part} loss is {value}, which is no finite number")
            elif value < 0 and must_not_be_negative:
                found.append(f"{where}: {part} loss is {value:g}, and {loss or log.loss} is not")
                found[-1] += " below 0"
            if problem := metric.problem(getattr(point, f"{part}_metric")):
                found.append(f"{where}: {part} {problem}")
    return found


def _plain(name: str) -> str:
    return name.strip().lower().replace("-", "_").replace(" ", "_")
