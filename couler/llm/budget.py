"""What a run may spend: reserved before each call, so that it cannot be passed."""

from __future__ import annotations

import json
import math
import sys
import threading
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from couler.errors import ConfigurationError, ModelBudgetError
from couler.llm.dialogue import Message
from couler.llm.settings import LlmSettings

USUAL_ANSWER_TOKENS = 8192
"""The most tokens of an answer where a budget holds and the settings say nothing."""

SHORTEST_ANSWER_TOKENS = 16
"""An answer that would be cut to less is not asked for."""

_AROUND_A_MESSAGE = 16
_AROUND_A_DIALOGUE = 64
"""What templates of chats add: marks of turns, and lines such as the date."""


@dataclass(slots=True)
class _Spent:
    calls: int = 0
    tokens: int = 0
    cost: float = 0.0


@dataclass(frozen=True, slots=True)
class Reservation:
    """What a call may take, until it is known what it took."""

    prompt: str
    prompt_tokens: int
    answer_tokens: int | None
    is_cut: bool = False


@dataclass
class Budget:
    """Tokens and money of a run."""

    settings: LlmSettings
    _spent: dict[str, _Spent] = field(default_factory=dict)
    _open: list[Reservation] = field(default_factory=list)
    _lost: list[Reservation] = field(default_factory=list)
    _lock: threading.Lock = field(default_factory=threading.Lock, repr=False)

    def __post_init__(self) -> None:
        if self.settings.max_cost is not None and self.settings.price is None:
            model = self.settings.model
            raise ConfigurationError(
                f'language model: max-cost is set, but no price of the model "{model}" is known. '
                f"State what a million tokens cost:\n"
                f'  [tool.couler.llm.prices."{model}"]\n'
                "  prompt = 0.5\n"
                "  completion = 1.5"
            )

    @property
    def is_limited(self) -> bool:
        """Whether there is anything to keep to."""
        return self.settings.max_tokens_total is not None or self.settings.max_cost is not None

    def reserve(self, prompt: str, prompt_tokens: int) -> Reservation:
        """Return what a call may take."""
        wanted = self.settings.answer_tokens
        if not self.is_limited:
            return Reservation(prompt, prompt_tokens, wanted)
        with self._lock:
            left = self._left_for_answer(prompt_tokens)
            most = wanted or USUAL_ANSWER_TOKENS
            if left < min(most, SHORTEST_ANSWER_TOKENS):
                raise self._exceeded(prompt, prompt_tokens)
            one = Reservation(prompt, prompt_tokens, min(left, most), is_cut=left < most)
            self._open.append(one)
            return one

    def settle(self, reservation: Reservation, prompt_tokens: int, answer_tokens: int) -> None:
        """Take in what a call took."""
        with self._lock:
            self._drop(reservation)
            spent = self._spent.setdefault(reservation.prompt, _Spent())
            spent.calls += 1
            spent.tokens += prompt_tokens + answer_tokens
            spent.cost += self._cost(prompt_tokens, answer_tokens)

    def release(self, reservation: Reservation) -> None:
        """Give back what a call took nothing of."""
        with self._lock:
            self._drop(reservation)

    def lose(self, reservation: Reservation) -> None:
        """Keep what a call was given, of which nobody can tell what it took."""
        with self._lock:
            self._drop(reservation)
            self._lost.append(reservation)

    @property
    def lost(self) -> int:
        """How many calls have broken after they were sent."""
        return len(self._lost)

    def text(self) -> str:
        """Return what was spent, of how much, and by which calls."""
        with self._lock:
            return self._text()

    def cut(self, prompt: str, answer_tokens: int | None) -> ModelBudgetError:
        """Return the error of an answer that the budget has cut."""
        spent = self.text()
        return ModelBudgetError(
            f'language model: the answer to "{prompt}" was cut after {answer_tokens:,} tokens, '
            f"which is all that the budget had left. {spent}. {_RAISE}",
            spent=spent,
        )

    def _drop(self, reservation: Reservation) -> None:
        if reservation in self._open:
            self._open.remove(reservation)

    def _cost(self, prompt_tokens: int, answer_tokens: int) -> float:
        price = self.settings.price
        return 0.0 if price is None else price.cost(prompt_tokens, answer_tokens)

    def _held(self) -> list[Reservation]:
        return [*self._open, *self._lost]

    def _tokens(self) -> int:
        spent = sum(one.tokens for one in self._spent.values())
        return spent + sum(_most(one) for one in self._held())

    def _money(self) -> float:
        spent = sum(one.cost for one in self._spent.values())
        return spent + sum(
            self._cost(one.prompt_tokens, one.answer_tokens or 0) for one in self._held()
        )

    def _left_for_answer(self, prompt_tokens: int) -> int:
        settings, price = self.settings, self.settings.price
        left: float = math.inf
        if settings.max_tokens_total is not None:
            left = settings.max_tokens_total - self._tokens() - prompt_tokens
        if settings.max_cost is not None and price is not None:
            money = settings.max_cost - self._money() - price.cost(prompt_tokens, 0)
            if money < 0:
                left = -1
            elif price.completion > 0:
                left = min(left, money * 1e6 / price.completion)
        return math.floor(min(left, sys.maxsize))

    def _exceeded(self, prompt: str, prompt_tokens: int) -> ModelBudgetError:
        spent = self._text()
        least = f"up to {prompt_tokens:,} tokens for its prompt"
        price = self.settings.price
        if self.settings.max_cost is not None and price is not None:
            least += f" ({price.cost(prompt_tokens, 0):.6g} {self.settings.currency})"
        return ModelBudgetError(
            f'language model: the budget does not suffice for the call "{prompt}", which may take '
            f"{least} and at least {SHORTEST_ANSWER_TOKENS} for an answer. {spent}. {_RAISE}",
            spent=spent,
        )

    def _text(self) -> str:
        settings = self.settings
        parts = []
        tokens = sum(one.tokens for one in self._spent.values())
        if settings.max_tokens_total is not None:
            parts.append(f"{tokens:,} of {settings.max_tokens_total:,} tokens")
        else:
            parts.append(f"{tokens:,} tokens")
        if settings.price is not None:
            cost = sum(one.cost for one in self._spent.values())
            of = "" if settings.max_cost is None else f" of {settings.max_cost:g}"
            parts.append(f"{cost:.6g}{of} {settings.currency}")
        text = f"Spent are {' and '.join(parts)}"
        if self._spent:
            text += ", by " + ", ".join(
                f"{name} ({one.calls} call{'s' * (one.calls != 1)}, {one.tokens:,} tokens)"
                for name, one in self._spent.items()
            )
        if self._lost:
            text += (
                f"; {sum(map(_most, self._lost)):,} tokens are held back for {len(self._lost)} "
                "that broke off, which may be billed"
            )
        return text


_RAISE = "Raise max-tokens-total or max-cost, or ask for less"


def _most(one: Reservation) -> int:
    return one.prompt_tokens + (one.answer_tokens or 0)


def most_tokens(messages: Sequence[Message], schema: Mapping[str, object] | None = None) -> int:
    """Return a number of tokens that a prompt does not pass."""
    texts = sum(_AROUND_A_MESSAGE + _bytes_of(one.content) for one in messages)
    form = 0 if schema is None else _bytes_of(json.dumps(schema, ensure_ascii=False))
    return _AROUND_A_DIALOGUE + texts + form


def likely_tokens(text: str) -> int:
    """Return about how many tokens a text takes: one for each four bytes of UTF-8."""
    return -(-_bytes_of(text) // 4)


def _bytes_of(text: str) -> int:
    """Return the size of a text in UTF-8."""
    return len(text.encode("utf-8", errors="surrogatepass"))
