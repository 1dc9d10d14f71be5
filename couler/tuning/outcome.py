"""Outcomes of tuning: every candidate, which one was chosen, and why."""

from __future__ import annotations

import json
import math
import statistics
import typing as t
from collections.abc import Iterable, Sequence
from pathlib import Path

from pydantic import BeforeValidator, Field, NonNegativeInt, model_validator

from couler.config_files import Table
from couler.errors import ParameterError, TuningError
from couler.ir.base import Json, JsonMap
from couler.ir.parameters import PlainText
from couler.ir.yaml_writer import dump
from couler.optimizers.base import TunedParameters
from couler.tuning.metrics import Metric
from couler.tuning.reading import MOST_BYTES, make_sheet, parse_yaml, read_text

KIND: t.Final = "tuning"

Origin: t.TypeAlias = t.Literal["default", "proposed"]

_MOST_BYTES = 16 * MOST_BYTES


def _whole(value: object) -> object:
    """Return 3 for 3.0, which JSON does not tell apart."""
    return int(value) if isinstance(value, float) and value.is_integer() else value


class LogPoint(Table):
    """Loss and metric after a step of training."""

    step: t.Annotated[
        int, BeforeValidator(_whole), Field(description="number of the epoch or iteration, from 1")
    ]
    train_loss: float
    validation_loss: float
    train_metric: float
    validation_metric: float


class RealTraining(Table):
    """The scores of a real training, one for each split of the rows."""

    scores: tuple[float, ...] = ()
    problem: str | None = None

    @property
    def mean(self) -> float | None:
        """The mean of all splits; None if training failed."""
        return statistics.fmean(self.scores) if self.scores else None


class Candidate(Table):
    """A setting of hyperparameters with its predicted and real score."""

    name: str
    round: NonNegativeInt
    origin: Origin
    parameters: JsonMap
    predicted: float | None = None
    reason: str = ""
    log: tuple[LogPoint, ...] = ()
    problems: tuple[str, ...] = ()
    real: RealTraining | None = None

    @property
    def real_mean(self) -> float | None:
        """The mean score of real training; None without one."""
        return None if self.real is None else self.real.mean


class ModelUse(Table):
    """The language model and its cost."""

    model: str = ""
    prompts: t.Annotated[tuple[str, ...], Field(max_length=20)] = ()
    calls: NonNegativeInt = 0
    prompt_tokens: NonNegativeInt = 0
    completion_tokens: NonNegativeInt = 0
    cost: float | None = None


class Outcome(Table):
    """The candidates of a tuning and the one that was chosen."""

    kind: t.Literal["tuning"] = KIND
    schema_version: t.Literal[1] = 1
    data: str
    model: str
    metric: Metric
    scoring: str = ""
    parameters: JsonMap
    chosen: str
    why: str
    defaults: JsonMap | None = None
    conditions: dict[str, dict[str, tuple[Json, ...]]] = Field(default_factory=dict)
    candidates: tuple[Candidate, ...]
    refused: tuple[str, ...] = ()
    used: ModelUse = ModelUse()
    ended_early: str = ""

    @model_validator(mode="after")
    def _check(self) -> t.Self:
        found = [one for one in self.candidates if one.name == self.chosen]
        if not found:
            raise ValueError(f'chosen: there is no candidate "{self.chosen}"')
        if found[0].parameters != self.parameters:
            raise ValueError(f"parameters are not those of {self.chosen}, which is chosen")
        return self

    @property
    def best(self) -> Candidate:
        """The candidate that was chosen."""
        return next(one for one in self.candidates if one.name == self.chosen)

    @property
    def rank_correlation(self) -> tuple[float | None, int]:
        """Spearman's correlation of predicted and real scores, and the number of candidates."""
        pairs = [
            (one.predicted, one.real_mean)
            for one in self.candidates
            if one.predicted is not None and one.real_mean is not None
        ]
        return spearman(pairs), len(pairs)

    def as_tuned(self) -> TunedParameters:
        """Return what the pass `tune` needs of it."""
        return TunedParameters(self.parameters, self.why, self.conditions)

    def to_json(self) -> dict[str, t.Any]:
        """Return the outcome as JSON, which reads back equal."""
        correlation, count = self.rank_correlation
        tree = self.model_dump(mode="json", exclude_none=True)
        if any(one.real is not None for one in self.candidates):
            tree["rank_correlation"] = {"spearman": correlation, "candidates": count}
        return tree

    def to_json_text(self) -> str:
        """Return the outcome as a text of JSON, which reads back equal."""
        return json.dumps(self.to_json(), ensure_ascii=False, indent=2) + "\n"

    def to_yaml(self) -> str:
        """Return the outcome as YAML, which reads back equal."""
        return dump(self.to_json())


def ranked(
    candidates: Iterable[Candidate], metric: Metric, *, is_real: bool = False
) -> list[Candidate]:
    """Return the candidates that have a score, the best first; of equals the default is first."""

    def place(one: Candidate, value: float) -> tuple[float, bool, float]:
        second = 0.0
        if is_real:
            second = math.inf if one.predicted is None else metric.rank(one.predicted)
        return metric.rank(value), one.origin != "default", second

    valued = [(one, one.real_mean if is_real else one.predicted) for one in candidates]
    placed = [(place(one, value), one) for one, value in valued if value is not None]
    return [one for _, one in sorted(placed, key=lambda pair: pair[0])]


def choose(candidates: Sequence[Candidate], metric: Metric) -> tuple[Candidate, str] | None:
    """Return the best candidate and the reason; None if none has a score."""
    predicted, trained = ranked(candidates, metric), ranked(candidates, metric, is_real=True)
    if trained:
        best = trained[0]
        why = f"best of {len(trained)} by real training, {metric.name} {best.real_mean:.4g}"
        return best, why + ("" if best.predicted is None else f"; predicted {best.predicted:.4g}")
    if not predicted or any(one.real is not None for one in candidates):
        return None
    best = predicted[0]
    by = "by its predicted log" if best.log else "by the ranking of the language model"
    why = f"best of {len(predicted)} {by}, {metric.name} {best.predicted:.4g}"
    return best, f"{why}; nothing was trained"


def spearman(pairs: Sequence[tuple[float, float]]) -> float | None:
    """Return Spearman's rank correlation; None for less than 3 pairs or a constant side."""

    def ranks(values: Sequence[float]) -> list[float]:
        return [sum(two < one for two in values) + values.count(one) / 2 for one in values]

    sides = [ranks(side) for side in zip(*pairs, strict=True)]
    if len(pairs) < 3 or any(len(set(side)) == 1 for side in sides):
        return None
    return statistics.correlation(*sides)


def make_outcome(tree: object, where: str) -> Outcome:
    """Return the outcome that plain values describe."""
    if isinstance(tree, dict):
        if tree.get("kind") != KIND:
            raise TuningError(f"{where}: this is no outcome of tuning; `couler tune -o` writes one")
        tree = {key: value for key, value in tree.items() if key != "rank_correlation"}
    return make_sheet(Outcome, tree, where)


def read_outcome(path: Path) -> Outcome:
    """Read what `couler tune -o` wrote."""
    text = read_text(path, "outcome of tuning", _MOST_BYTES)
    return make_outcome(parse_yaml(text, str(path)), str(path))


def read_parameters(path: Path) -> dict[str, object]:
    """Return parameters by name, with the types that the file has."""
    try:
        tree = parse_yaml(
            read_text(path, "file of parameters", _MOST_BYTES), str(path), exact_keys=True
        )
        if isinstance(tree, dict) and tree.get("kind") == KIND:
            tree = make_outcome(tree, str(path)).parameters
    except TuningError as error:
        raise ParameterError(f"-p @{path}: {error}") from error
    if not isinstance(tree, dict):
        raise ParameterError(f"-p @{path}: it is no table of parameters by name")
    return {name: _checked(path, name, value) for name, value in tree.items()}


def _checked(path: Path, name: str, value: object) -> object:
    if isinstance(value, str):
        return PlainText(value)
    try:
        json.dumps(value, allow_nan=False)
    except (TypeError, ValueError) as error:
        raise ParameterError(
            f"-p @{path}: {name} is {value!r:.60}, which has no JSON form. Quote it"
        ) from error
    return value
