"""What is set of an endpoint: where it is, how it is called, what a run may spend."""

from __future__ import annotations

import typing as t
from collections.abc import Mapping
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from urllib.parse import urlsplit

from couler.errors import ConfigurationError

DEFAULT_BASE_URL = "https://api.openai.com/v1"

Structured: t.TypeAlias = t.Literal["auto", "schema", "object", "text"]

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
    max_retries: int = 4
    backoff_s: float = 0.5
    retry_after_cap_s: float = 120.0
    temperature: float | None = None
    seed: int | None = None
    answer_tokens: int | None = None
    prices: Mapping[str, Price] = field(default_factory=dict)
    currency: str = "USD"
    max_tokens_total: int | None = None
    max_cost: float | None = None

    def __post_init__(self) -> None:
        _check_address(self.base_url)
        if self.structured not in STRUCTURED:
            _refuse("structured", f"one of {', '.join(STRUCTURED)}", self.structured)
        if not 0 < self.timeout_s < 86_400:
            _refuse("timeout", "a number of seconds above 0", self.timeout_s)
        if self.max_retries < 0:
            _refuse("max-retries", "a number from 0", self.max_retries)
        check_temperature(self.temperature)
        if self.answer_tokens is not None and self.answer_tokens < 1:
            _refuse("answer-tokens", "a number from 1", self.answer_tokens)
        if self.max_tokens_total is not None and self.max_tokens_total < 1:
            _refuse("max-tokens-total", "a number from 1", self.max_tokens_total)
        if self.max_cost is not None and not 0 <= self.max_cost < float("inf"):
            _refuse("max-cost", "a number from 0", self.max_cost)

    @property
    def price(self) -> Price | None:
        """The price of the model, if one is stated."""
        fitting = [one for one in self.prices if fnmatchcase(self.model, one)]
        return self.prices[max(fitting, key=len)] if fitting else None


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
            "language model: base-url must have no user, password, query or fragment: a key stands "
            "in the environment, COULER_LLM_API_KEY"
        )
    if not usable:
        _refuse("base-url", "an address such as http://127.0.0.1:8000/v1", base_url)


def _refuse(name: str, expected: str, value: object) -> t.NoReturn:
    raise ConfigurationError(f"language model: {name} must be {expected}, not {value!r}")
