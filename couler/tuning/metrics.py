"""Metrics by which models are judged: which way is better, and what values there can be."""

from __future__ import annotations

import math
import typing as t

from pydantic import model_validator

from couler.config_files import Table
from couler.ir.base import FrozenDict
from couler.ir.diagnostics import did_you_mean

Direction: t.TypeAlias = t.Literal["maximize", "minimize"]


class Metric(Table):
    """What a model is judged by."""

    name: str
    direction: Direction
    least: float | None = None
    most: float | None = None
    scorer: str | None = None
    is_negated: bool = False

    @model_validator(mode="before")
    @classmethod
    def _by_name(cls, given: t.Any) -> t.Any:
        if not isinstance(given, str):
            return given
        found = KNOWN.get(given.lower().replace("-", "_").replace(" ", "_"))
        if found is None:
            raise ValueError(
                f'the metric "{given}" is not known.{did_you_mean(given, KNOWN)} Give its name, '
                "direction (maximize or minimize), and least and most where it has them"
            )
        return dict(found)

    @model_validator(mode="after")
    def _check(self) -> t.Self:
        if self.least is not None and self.most is not None and not self.least < self.most:
            raise ValueError(f"least ({self.least}) is not below most ({self.most})")
        return self

    @property
    def range(self) -> str:
        """The range as the end of a phrase."""
        bounds = (("at least", self.least), ("at most", self.most))
        return "".join(f", {what} {bound:g}" for what, bound in bounds if bound is not None)

    def problem(self, value: float) -> str | None:
        """Return why a number cannot be a value of the metric, or None."""
        if not math.isfinite(value):
            return f"{self.name} is {value}, which is no finite number"
        if self.least is not None and value < self.least:
            return f"{self.name} is {value:g}, which is below {self.least:g}"
        if self.most is not None and value > self.most:
            return f"{self.name} is {value:g}, which is above {self.most:g}"
        return None

    def rank(self, value: float) -> float:
        """Return a number that is less, the better the value is."""
        return -value if self.direction == "maximize" else value

    def from_score(self, score: float) -> float:
        """Return the metric for what the scorer gives."""
        return -score if self.is_negated else score


def _share(scorer: str, name: str) -> FrozenDict:
    return FrozenDict(name=name, direction="maximize", least=0.0, most=1.0, scorer=scorer)


def _error(scorer: str | None, name: str) -> FrozenDict:
    return FrozenDict(name=name, direction="minimize", least=0.0, scorer=scorer, is_negated=True)


_R2 = FrozenDict(name="r2", direction="maximize", most=1.0, scorer="r2")

KNOWN: t.Final = FrozenDict(
    {
        **{
            name: _share(scorer, name)
            for name, scorer in {
                "accuracy": "accuracy",
                "average_precision": "average_precision",
                "balanced_accuracy": "balanced_accuracy",
                "f1": "f1",
                "f1_macro": "f1_macro",
                "f1_micro": "f1_micro",
                "f1_weighted": "f1_weighted",
                "precision": "precision",
                "precision_macro": "precision_macro",
                "recall": "recall",
                "recall_macro": "recall_macro",
                "roc_auc": "roc_auc",
                "roc_auc_ovr": "roc_auc_ovr",
            }.items()
        },
        **{
            name: _error(scorer, name)
            for name, scorer in {
                "log_loss": "neg_log_loss",
                "mae": "neg_mean_absolute_error",
                "mape": "neg_mean_absolute_percentage_error",
                "mse": "neg_mean_squared_error",
                "rmse": "neg_root_mean_squared_error",
                "wer": None,
            }.items()
        },
        "r2": _R2,
        "perplexity": FrozenDict(name="perplexity", direction="minimize", least=1.0),
    }
)
"""Known metrics, as fields of `Metric`; scorers are those of scikit-learn."""
