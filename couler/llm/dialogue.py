"""What is said to language models and what comes back: the interface that other parts use."""

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
    """What is asked, from a versioned file.

    Attributes
    ----------
    name
        The role of the call, such as `decompose`.
    version
        Of the file that it was rendered from.
    messages
        The dialogue so far; the last is what is to be answered.
    """

    name: str
    version: str
    messages: tuple[Message, ...]

    def followed_by(self, *messages: Message) -> Prompt:
        """Return the prompt with further turns at its end.

        Examples
        --------
        >>> first = Prompt("generate", "1", (Message("user", "Write it."),))
        >>> second = first.followed_by(Message("assistant", "x ="), Message("user", "Mend it."))
        >>> [message.role for message in second.messages]
        ['user', 'assistant', 'user']
        """
        return replace(self, messages=(*self.messages, *messages))


@dataclass(frozen=True, slots=True)
class Usage:
    """What calls took.

    Attributes
    ----------
    calls
        Requests that were answered.
    prompt_tokens, completion_tokens
        As the endpoint counts them; where it does not say, a token for each four bytes of UTF-8.
    seconds
        From the request to the answer, waits between attempts included.
    cost
        In the currency of the price table; None if a price is not known.
    estimated_calls
        Calls whose tokens are not the endpoint's count.

    Examples
    --------
    >>> Usage(1, 10, 5, 0.5, 0.25) + Usage(1, 20, 5, 0.5, 0.25)
    Usage(calls=2, prompt_tokens=30, completion_tokens=10, seconds=1.0, cost=0.5, estimated_calls=0)
    """

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
    """What a model answered.

    Attributes
    ----------
    text
        All of it.
    usage
        Of this answer, with the turns that asked for a repair of its form.
    model
        As the endpoint calls it.
    finish_reason
        Why the model ended, such as `stop`.
    """

    text: str
    usage: Usage
    model: str
    finish_reason: str


@dataclass(frozen=True, slots=True)
class Parsed(t.Generic[M]):
    """An answer that has the form that was asked for."""

    value: M
    answer: Answer


@dataclass(frozen=True, slots=True)
class Heard:
    """An answer that came, and why it cannot be used, if so."""

    answer: Answer
    problem: LanguageModelError | None = None


class LanguageModel(t.Protocol):
    """An endpoint with a model, for one run; `couler.llm.open_model` gives one."""

    def ask(
        self, prompt: Prompt, *, temperature: float | None = None, seed: int | None = None
    ) -> Answer:
        """Return what the model answers.

        Parameters
        ----------
        prompt
            The dialogue so far.
        temperature
            From 0 to 2; None for that of the settings.
        seed
            For endpoints that take one; None for that of the settings.

        Raises
        ------
        LanguageModelError
            The endpoint cannot be used, or gave no whole answer.
        ModelBudgetError
            The call could pass the budget.
        """
        ...

    def ask_for(
        self,
        prompt: Prompt,
        schema: type[M],
        *,
        temperature: float | None = None,
        seed: int | None = None,
    ) -> Parsed[M]:
        """Return what the model answers, in the form of a pydantic model.

        Raises
        ------
        LanguageModelError
            As `ask`; or no answer had the form, with one turn to mend it.
        ModelBudgetError
            The call could pass the budget.
        """
        ...

    @property
    def usage(self) -> Usage:
        """What all calls of this run took so far."""
        ...
