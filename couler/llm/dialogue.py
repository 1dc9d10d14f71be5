"""Prompts, answers and usage of language models: the interface that other parts use."""

from __future__ import annotations

import typing as t
from dataclasses import dataclass, replace

if t.TYPE_CHECKING:
    from pydantic import BaseModel

    from couler.errors import LanguageModelError

Role: t.TypeAlias = t.Literal["system", "user", "assistant"]

M = t.TypeVar("M", bound="BaseModel")


class Message(t.NamedTuple):
    """One turn of a dialogue."""

    role: Role
    content: str


@dataclass(frozen=True, slots=True)
class Prompt:
    """Messages of a versioned prompt."""

    name: str
    version: str
    messages: tuple[Message, ...]

    def followed_by(self, *messages: Message) -> Prompt:
        """Return the prompt with further turns at its end."""
        return replace(self, messages=(*self.messages, *messages))


@dataclass(frozen=True, slots=True)
class Usage:
    """Number, tokens and seconds of calls of a model."""

    calls: int = 0
    prompt_tokens: int = 0
    completion_tokens: int = 0
    seconds: float = 0.0
    cost: float | None = 0.0
    estimated_calls: int = 0

    def __add__(self, other: Usage) -> Usage:
        cost = None if self.cost is None or other.cost is None else self.cost + other.cost
        return Usage(
            self.calls + other.calls,
            self.prompt_tokens + other.prompt_tokens,
            self.completion_tokens + other.completion_tokens,
            self.seconds + other.seconds,
            cost,
            self.estimated_calls + other.estimated_calls,
        )

    @property
    def tokens(self) -> int:
        """Tokens of prompts and completions together."""
        return self.prompt_tokens + self.completion_tokens


@dataclass(frozen=True, slots=True)
class Answer:
    """The answer of a model."""

    text: str
    usage: Usage
    model: str
    finish_reason: str


@dataclass(frozen=True, slots=True)
class Parsed(t.Generic[M]):
    """An answer as a pydantic model."""

    value: M
    answer: Answer


@dataclass(frozen=True, slots=True)
class CallResult:
    """An answer, and the error if it cannot be used."""

    answer: Answer
    error: LanguageModelError | None = None


class LanguageModel(t.Protocol):
    """An endpoint with a model, for one run; `couler.llm.open_model` gives one."""

    def ask(
        self, prompt: Prompt, *, temperature: float | None = None, seed: int | None = None
    ) -> Answer:
        """Return the answer of the model."""

    def ask_for(
        self,
        prompt: Prompt,
        schema: type[M],
        *,
        temperature: float | None = None,
        seed: int | None = None,
    ) -> Parsed[M]:
        """Return the answer of the model as a pydantic model."""

    @property
    def usage(self) -> Usage:
        """Usage of all calls of this run so far."""
