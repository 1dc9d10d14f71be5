"""Model cards of what a step of the zoo trains."""

from __future__ import annotations

import inspect
import math
import typing as t
from collections.abc import Iterable

from couler.errors import ConfigurationError, TuningError
from couler.ir.diagnostics import did_you_mean
from couler.tuning.cards import ModelCard, Training

STEP: t.Final = "sklearn.train"

_WANTS_SCALE = ("MLP", "SVC", "SVR", "KNeighbors", "LogisticRegression", "SGD")
"""How estimators begin that go by distances or gradients over all columns."""

_LOSSES = {"MLPClassifier": "log_loss", "MLPRegressor": "squared_error"}


def draw_model_card(step: str, estimator: str) -> ModelCard:
    """Return the card of an estimator that a step of the zoo trains."""
    if step != STEP:
        raise TuningError(
            f'cards are drawn of what {STEP} trains, not "{step}". Write the card by hand'
        )
    found = _found(estimator)
    defaults = {
        name: list(one.default) if isinstance(one.default, tuple) else one.default
        for name, one in inspect.signature(found).parameters.items()
        if one.default is not one.empty and _is_plain(one.default)
    }
    loss = _LOSSES.get(estimator) or defaults.get("loss")
    return ModelCard(
        name=estimator,
        structure=(inspect.getdoc(found) or "").partition("\n")[0],
        hyperparameters=defaults,
        loss=loss if isinstance(loss, str) else "",
        training=Training(estimator=estimator, scale=estimator.startswith(_WANTS_SCALE)),
    )


def refuse_unknown_parameters(estimator: str, names: Iterable[str]) -> None:
    """Refuse names that an estimator has no parameters of."""
    if "." in estimator:
        return
    known = inspect.signature(_found(estimator)).parameters
    unknown = next((one for one in names if one not in known), None)
    if unknown is not None:
        raise TuningError(
            f'{estimator} has no parameter "{unknown}".{did_you_mean(unknown, known)}'
        )


def _found(estimator: str) -> t.Any:
    """Return the class of an estimator."""
    try:
        from sklearn.utils import all_estimators
    except ImportError as error:
        raise ConfigurationError(
            "the estimators of scikit-learn need it: pip install 'couler[tuning]'"
        ) from error
    known: dict[str, t.Any] = dict(all_estimators())
    if estimator not in known:
        raise TuningError(
            f'scikit-learn has no estimator "{estimator}".{did_you_mean(estimator, known)}'
        )
    return known[estimator]


def _is_plain(value: object) -> bool:
    if isinstance(value, tuple | list):
        return all(map(_is_plain, value))
    if isinstance(value, str):
        return value not in ("deprecated", "warn")  # marks, and no values
    return value is None or (isinstance(value, int | float) and math.isfinite(value))
