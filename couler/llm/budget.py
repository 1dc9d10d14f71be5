"""Token and cost budget of a run, checked before each call."""

from __future__ import annotations

import json
import math
import threading
from collections.abc import Sequence

from pydantic import BaseModel

from couler.errors import ConfigurationError, ModelBudgetError
from couler.llm.dialogue import Message, Usage
from couler.llm.settings import LlmSettings

DEFAULT_ANSWER_TOKENS = 8192  # where there is a budget and the settings have no limit
MIN_ANSWER_TOKENS = 16  # with less left for its answer, a call is not made

# Chat templates add marks of turns, and lines such as the date.
_TOKENS_PER_MESSAGE = 16
_TOKENS_PER_DIALOGUE = 64

RAISE = "Raise max-tokens-total or max-cost, or ask for less"


class Budget:
    """Usage of a run and its limits; threads may share it."""

    def __init__(self, settings: LlmSettings, *, is_priced: bool) -> None:
        self._settings = settings
        self._start = Usage(cost=0.0 if is_priced else None)
        self._used: dict[str, Usage] = {}
        self._lock = threading.Lock()
        if settings.max_cost is not None and settings.price is None:
            raise ConfigurationError(
                f"language model: max-cost is set, but the price of the model "
                f'"{settings.model}" is not known. State what a million tokens cost:\n'
                f'  [tool.couler.llm.prices."{settings.model}"]\n'
                "  prompt = 0.5\n"
                "  completion = 1.5"
            )

    @property
    def total(self) -> Usage:
        """Usage of all calls so far."""
        with self._lock:
            return sum(self._used.values(), self._start)

    def add(self, prompt: str, usage: Usage) -> None:
        """Add the usage of a call."""
        with self._lock:
            self._used[prompt] = self._used.get(prompt, Usage()) + usage

    def answer_limit(self, prompt: str, prompt_tokens: int) -> int | None:
        """Return the maximum tokens of the answer to a prompt; None for no limit."""
        settings, price, used = self._settings, self._settings.price, self.total
        if settings.max_tokens_total is None and settings.max_cost is None:
            return settings.answer_tokens
        limit = settings.answer_tokens or DEFAULT_ANSWER_TOKENS
        left: float = limit
        needed = f"up to {prompt_tokens:,} tokens for its prompt"
        if settings.max_tokens_total is not None:
            left = min(left, settings.max_tokens_total - used.tokens - prompt_tokens)
        if settings.max_cost is not None and price is not None:
            cost = price.cost(prompt_tokens, 0)
            needed += f" ({cost:.6g} {settings.currency})"
            money = settings.max_cost - (used.cost or 0.0) - cost
            if money < 0:
                left = -1
            elif price.completion:
                left = min(left, money * 1e6 / price.completion)
        if left < min(limit, MIN_ANSWER_TOKENS):
            raise ModelBudgetError(
                f'language model: the budget does not suffice for the call "{prompt}", which needs '
                f"{needed} and at least {MIN_ANSWER_TOKENS} for an answer. {self.text()}. {RAISE}",
                spent=self.text(),
            )
        return math.floor(left)

    def text(self) -> str:
        """Return the usage so far, the limits, and the share of each prompt."""
        settings, total = self._settings, self.total
        text = f"Used so far: {total.tokens:,}"
        if settings.max_tokens_total is not None:
            text += f" of {settings.max_tokens_total:,}"
        text += " tokens"
        if total.cost is not None:
            limit = "" if settings.max_cost is None else f" of {settings.max_cost:g}"
            text += f" and {total.cost:.6g}{limit} {settings.currency}"
        return text + "".join(
            f", {name}: {one.tokens:,} tokens in {one.calls} call{'s' * (one.calls != 1)}"
            for name, one in self._used.copy().items()
        )


def max_prompt_tokens(messages: Sequence[Message], schema: type[BaseModel] | None = None) -> int:
    """Return an upper bound of the tokens of a prompt: no tokenizer has tokens below a byte."""
    text = "".join(one.content for one in messages)
    if schema is not None:
        text += json.dumps(schema.model_json_schema(), ensure_ascii=False)
    return _TOKENS_PER_DIALOGUE + _TOKENS_PER_MESSAGE * len(messages) + _size_bytes(text)


def likely_tokens(text: str) -> int:
    """Estimate the tokens of a text: one for each four bytes of UTF-8."""
    return -(-_size_bytes(text) // 4)


def _size_bytes(text: str) -> int:
    return len(text.encode("utf-8", errors="surrogatepass"))
