"""Answers of the language model: ranked settings and predicted training logs."""

from __future__ import annotations

import typing as t
from collections.abc import Iterator
from itertools import pairwise

from pydantic import BaseModel, ConfigDict, Field

from couler.tuning.metrics import Metric
from couler.tuning.outcome import LogPoint
from couler.tuning.space import short

MIN_LOG_POINTS = 3
MAX_STEP = 10**9

_Scalar: t.TypeAlias = bool | int | float | str | None


class _AnswerForm(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False)


class NamedValue(_AnswerForm):
    """A hyperparameter and its value; a strict JSON schema has no free keys."""

    name: str
    value: _Scalar | tuple[_Scalar, ...]


class RankedSetting(_AnswerForm):
    """A setting of all hyperparameters, with the score that the model expects of it."""

    parameters: tuple[NamedValue, ...]
    reason: t.Annotated[str, Field(description="in one short sentence")]
    expected_score: t.Annotated[float, Field(description="by the scoring protocol")]


class RankedSettings(_AnswerForm):
    """Settings on one scale, the best first."""

    settings: tuple[RankedSetting, ...]


class PredictedLog(_AnswerForm):
    """The training log that the model predicts for one setting."""

    reason: t.Annotated[str, Field(description="why training goes so, in one short sentence")]
    points: tuple[LogPoint, ...]


def problems_of_log(log: PredictedLog, metric: Metric) -> Iterator[str]:
    """Yield why a predicted log is not a training log."""
    if len(log.points) < MIN_LOG_POINTS:
        yield f"it has {len(log.points)} points; the minimum is {MIN_LOG_POINTS}"
    for before, after in pairwise((0, *(one.step for one in log.points))):
        if not before < after <= MAX_STEP:
            yield f"step {short(after)} is not between {short(before)} and {MAX_STEP:,}"
    for one in log.points:
        for value in (one.train_metric, one.validation_metric):
            if problem := metric.problem(value):
                yield f"step {short(one.step)}: {problem}"
