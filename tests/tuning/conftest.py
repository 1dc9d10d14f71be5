"""Cards, a space, and a scripted server that ranks settings, asked over the wire."""

from __future__ import annotations

import typing as t
from collections.abc import Callable, Generator
from contextlib import ExitStack

import pytest

from couler.llm import LanguageModel, LlmSettings, open_model
from couler.tuning.cards import DataCard, ModelCard, as_data, parse_data_card, parse_model_card
from couler.tuning.space import SearchSpace, parse_space
from tests.fakes.llm import ScriptedServer

DATA = """
name: wine
input_type: tabular
label_space: {kind: classes, class_count: 3}
metric: accuracy
data: {name: wine}
"""

MODEL = """
name: small network
structure: one hidden layer
loss: log_loss
training:
  estimator: MLPClassifier
  scale: true
  fixed: {max_iter: 200}
"""

SPACE = """
parameters:
  learning_rate_init: {low: 0.0001, high: 1.0, log: true, default: 0.001}
  hidden_layer_sizes: {values: [[10], [50]], default: [50]}
"""

Rules = list[dict[str, t.Any]]


def log(end: float = 0.9, *, points: int = 3, **fields: t.Any) -> dict[str, t.Any]:
    """Return a log that ends with a value of the metric."""
    shares = [(number + 1) / points for number in range(points)]
    return {
        "reason": f"it ends at {end}",
        "points": [
            {
                "step": 10 * (number + 1),
                "train_loss": 1.5 - share,
                "validation_loss": 1.6 - share,
                "train_metric": end * share,
                "validation_metric": end * share,
            }
            for number, share in enumerate(shares)
        ],
        **fields,
    }


def predicts(setting: t.Mapping[str, t.Any], answer: t.Any, **fields: t.Any) -> dict[str, t.Any]:
    """Return the rule that answers with the log of a setting."""
    reply = {"text": answer} if isinstance(answer, str) else {"json": answer}
    last = f"<hyperparameters>{as_data(setting)}</hyperparameters>"
    return {"when": {"prompt": "tune-log", "last": last}, "reply": reply, **fields}


def ranks(
    *settings: tuple[t.Mapping[str, t.Any], float], turn: int = 1, **fields: t.Any
) -> dict[str, t.Any]:
    """Return the rule that answers with settings and their expected scores."""
    listed = [
        {
            "parameters": [
                {"name": name, "value": list(value) if isinstance(value, tuple) else value}
                for name, value in one.items()
            ],
            "reason": f"expected {score}",
            "expected_score": score,
        }
        for one, score in settings
    ]
    when = {"prompt": "tune-settings", "turn": turn}
    return {"when": when, "reply": {"json": {"settings": listed}}, **fields}


class Dialogue(t.NamedTuple):
    """An endpoint that answers from a script."""

    server: ScriptedServer
    model: LanguageModel

    @property
    def asked(self) -> list[str]:
        """The last messages of all requests, in order."""
        return [one.messages[-1][1] for one in self.server.requests]


@pytest.fixture
def scripted() -> Generator[Callable[..., Dialogue]]:
    """Open the real client on a real server that answers from rules."""
    with ExitStack() as stack:

        def opened(rules: Rules, **settings: t.Any) -> Dialogue:
            server = stack.enter_context(ScriptedServer(rules))
            given = {
                "base_url": server.base_url,
                "model": "scripted",
                "api_key": "none",
                **settings,
            }
            return Dialogue(server, stack.enter_context(open_model(LlmSettings(**given))))

        yield opened


@pytest.fixture
def data() -> DataCard:
    return parse_data_card(DATA)


@pytest.fixture
def model() -> ModelCard:
    return parse_model_card(MODEL)


@pytest.fixture
def space() -> SearchSpace:
    return parse_space(SPACE)
