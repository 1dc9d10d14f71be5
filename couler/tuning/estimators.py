"""Model cards of what a step of the zoo trains."""

from __future__ import annotations

import inspect
import math
import typing as t

from couler.errors import ConfigurationError, TuningError
from couler.ir.diagnostics import did_you_mean
from couler.tuning.cards import ModelCard, Training

__all__ = ["draw_model_card"]

STEP: t.Final = "sklearn.train"

_WANTS_SCALE = ("MLP", "SVC", "SVR", "KNeighbors", "LogisticRegression", "SGD")
"""How estimators begin that go by distances or gradients over all columns."""

_LOSSES = {"MLPClassifier": "log_loss", "MLPRegressor": "squared_error"}


def draw_model_card(step: str, estimator: str) -> ModelCard:
    """Return the card of an estimator that a step of the zoo trains.

    Parameters
    ----------
    step
        Name of the step; so far `sklearn.train`.
    estimator
        Name of the estimator of scikit-learn.

    Raises
    ------
    TuningError
        There is no such estimator, or the step is another one.
    ConfigurationError
        scikit-learn is not installed.
    """
    if step != STEP:
        raise TuningError(
            f'cards are drawn of what {STEP} trains, not "{step}". Write the card by hand'
        )
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
    found = known[estimator]
    defaults = {
        name: _plain(one.default)
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


def _is_plain(value: object) -> bool:
    if isinstance(value, tuple | list):
        return all(map(_is_plain, value))
    if isinstance(value, str):
        return value not in ("deprecated", "warn")  # marks, and no values
    return value is None or (isinstance(value, int | float) and math.isfinite(value))


def _plain(value: t.Any) -> t.Any:
    return list(value) if isinstance(value, tuple) else value
