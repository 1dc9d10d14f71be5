"""Hyperparameters from cards: ranked by a language model, and really trained."""

import typing as _t
from importlib import import_module as _import_module

__all__ = [
    "DataCard",
    "ModelCard",
    "Outcome",
    "SearchSpace",
    "Trainer",
    "TuneOptions",
    "Tuner",
    "read_data_card",
    "read_model_card",
    "read_outcome",
    "read_space",
]

if _t.TYPE_CHECKING:
    from couler.tuning.cards import DataCard, ModelCard, read_data_card, read_model_card
    from couler.tuning.outcome import Outcome, read_outcome
    from couler.tuning.space import SearchSpace, read_space
    from couler.tuning.trainer import Trainer
    from couler.tuning.tuner import TuneOptions, Tuner

_MODULES = {
    "DataCard": "cards",
    "ModelCard": "cards",
    "Outcome": "outcome",
    "SearchSpace": "space",
    "Trainer": "trainer",
    "TuneOptions": "tuner",
    "Tuner": "tuner",
    "read_data_card": "cards",
    "read_model_card": "cards",
    "read_outcome": "outcome",
    "read_space": "space",
}


def __getattr__(name: str) -> object:
    if name not in _MODULES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(_import_module(f"couler.tuning.{_MODULES[name]}"), name)


def __dir__() -> list[str]:
    return sorted({*globals(), *_MODULES})
