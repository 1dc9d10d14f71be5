"""Settings of an endpoint: address, model, limits of calls, budget of a run."""

from __future__ import annotations

import math
import typing as t
from collections.abc import Mapping
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from urllib.parse import urlsplit

from couler.errors import ConfigurationError

DEFAULT_BASE_URL = "https://api.openai.com/v1"

Structured: t.TypeAlias = t.Literal["auto", "schema", "text"]

STRUCTURED: tuple[Structured, ...] = t.get_args(Structured)


@dataclass(frozen=True, slots=True)
class Price:
    """What a million tokens cost, in any one currency."""

    prompt: float
    completion: float

    def cost(self, prompt_tokens: int, completion_tokens: int) -> float:
        """Return what a call costs."""
        return (self.prompt * prompt_tokens + self.completion * completion_tokens) / 1e6


@dataclass(frozen=True)
class LlmSettings:
    """An endpoint that speaks chat completions, and the limits of one run."""

    base_url: str = DEFAULT_BASE_URL
    model: str = ""
    api_key: str = field(default="", repr=False)
    structured: Structured = "auto"
    timeout_s: float = 120.0
    max_retries: int = 2
    temperature: float | None = None
    seed: int | None = None
    answer_tokens: int | None = None
    prices: Mapping[str, Price] = field(default_factory=dict)
    currency: str = "USD"
    max_tokens_total: int | None = None
    max_cost: float | None = None

    def __post_init__(self) -> None:
        _check_address(self.base_url)
        tokens, total, cost = self.answer_tokens, self.max_tokens_total, self.max_cost
        forms = ", ".join(STRUCTURED)
        for name, value, is_valid, expected in (
            ("structured", self.structured, self.structured in STRUCTURED, f"one of {forms}"),
            ("timeout", self.timeout_s, 0 < self.timeout_s < 86_400, "a number of seconds above 0"),
            ("max-retries", self.max_retries, self.max_retries >= 0, "a number from 0"),
            ("answer-tokens", tokens, tokens is None or tokens >= 1, "a number from 1"),
            ("max-tokens-total", total, total is None or total >= 1, "a number from 1"),
            ("max-cost", cost, cost is None or 0 <= cost < math.inf, "a number from 0"),
        ):
            if not is_valid:
                _refuse(name, expected, value)
        check_temperature(self.temperature)

    @property
    def price(self) -> Price | None:
        """The price of the model, if one is stated."""
        fitting = [one for one in self.prices if fnmatchcase(self.model, one)]
        return self.prices[max(fitting, key=len)] if fitting else None


def check_complete(settings: LlmSettings) -> None:
    """Check that there is a model and a key."""
    if not settings.model:
        raise ConfigurationError(
            "language model: no model is chosen. Set COULER_LLM_MODEL, or model in "
            "[tool.couler.llm], to its name at the endpoint"
        )
    if not settings.api_key:
        raise ConfigurationError(
            "language model: there is no key. Set COULER_LLM_API_KEY (or OPENAI_API_KEY) in the "
            "environment, or api-key-env in [tool.couler.llm] to the name of the variable that "
            "has it; any word if the endpoint requires no key"
        )
    if not (settings.api_key.isascii() and settings.api_key.isprintable()):
        raise ConfigurationError(
            "language model: the key has more than one line, or characters that a header cannot "
            "have. It is not shown here"
        )


def check_temperature(value: float | None) -> None:
    """Refuse what is no temperature; None leaves it to the endpoint."""
    if value is not None and not 0 <= value <= 2:
        _refuse("temperature", "a number from 0 to 2", value)


def _check_address(base_url: str) -> None:
    try:
        parts = urlsplit(base_url)
        usable = parts.scheme in ("http", "https") and bool(parts.hostname)
        with_secret = bool(parts.username or parts.password or parts.query or parts.fragment)
    except ValueError:
        usable, with_secret = False, True  # it is not shown: it may have a password
    if with_secret:
        raise ConfigurationError(
            "language model: base-url must have no user, password, query or fragment: set "
            "the key in the environment, as COULER_LLM_API_KEY"
        )
    if not usable:
        _refuse("base-url", "an address such as http://127.0.0.1:8000/v1", base_url)


def _refuse(name: str, expected: str, value: object) -> t.NoReturn:
    raise ConfigurationError(f"language model: {name} must be {expected}, not {value!r}")
