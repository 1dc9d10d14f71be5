"""Model cards of the estimators of scikit-learn."""

from __future__ import annotations

import functools
import inspect
import math
import typing as t
from collections.abc import Iterable, Mapping

from couler.errors import ConfigurationError, TuningError
from couler.ir.base import FrozenDict
from couler.ir.diagnostics import did_you_mean
from couler.tuning.cards import ModelCard, Training

_WANTS_SCALE = ("MLP", "SVC", "SVR", "KNeighbors", "LogisticRegression", "SGD")
"""How estimators begin that go by distances or gradients over all columns."""

_LOSSES = {"MLPClassifier": "log_loss", "MLPRegressor": "squared_error"}


def draw_model_card(estimator: str) -> ModelCard:
    """Return the card of an estimator that the step `sklearn.train` trains."""
    found = estimator_class(estimator)
    card = with_defaults(
        ModelCard(
            name=estimator,
            structure=(inspect.getdoc(found) or "").partition("\n")[0],
            training=Training(estimator=estimator, scale=estimator.startswith(_WANTS_SCALE)),
        )
    )
    loss = _LOSSES.get(estimator) or card.hyperparameters.get("loss")
    return card.model_copy(update={"loss": loss if isinstance(loss, str) else ""})


def with_defaults(card: ModelCard) -> ModelCard:
    """Return a card with the defaults of its estimator, such as limits of training."""
    training = card.training
    if training is None or "." in training.estimator:
        return card
    defaults = {
        name: one.default
        for name, one in inspect.signature(estimator_class(training.estimator)).parameters.items()
        if one.default is not one.empty and _is_plain(one.default)
    }
    merged = FrozenDict({**defaults, **card.hyperparameters})
    return card.model_copy(update={"hyperparameters": merged})


def refuse_unknown_parameters(estimator: str, names: Iterable[str]) -> None:
    """Refuse names that an estimator has no parameters of."""
    if "." in estimator:
        return
    known = inspect.signature(estimator_class(estimator)).parameters
    unknown = next((one for one in names if one not in known), None)
    if unknown is not None:
        raise TuningError(
            f'{estimator} has no parameter "{unknown}".{did_you_mean(unknown, known)}'
        )


def estimator_class(name: str) -> t.Any:
    """Return the class of an estimator of scikit-learn."""
    known = _estimators()
    if name not in known:
        raise TuningError(f'scikit-learn has no estimator "{name}".{did_you_mean(name, known)}')
    return known[name]


@functools.cache  # listing them imports all of scikit-learn, which two threads cannot do at once
def _estimators() -> Mapping[str, t.Any]:
    try:
        from sklearn.utils import all_estimators
    except ImportError as error:
        raise ConfigurationError(
            "the estimators of scikit-learn need it: pip install 'couler[tuning]'"
        ) from error
    return dict(all_estimators())


def _is_plain(value: object) -> bool:
    if isinstance(value, tuple | list):
        return all(map(_is_plain, value))
    if isinstance(value, str):
        return value not in ("deprecated", "warn")  # marks, and no values
    return value is None or (isinstance(value, int | float) and math.isfinite(value))
