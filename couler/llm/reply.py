"""What a chat completion says: its text, its count of tokens, and whether it is whole."""

from __future__ import annotations

import typing as t
from dataclasses import dataclass

from couler.hidden import clean, whole
from couler.llm.masking import Mask
from couler.llm.structured import without_thoughts

Json: t.TypeAlias = dict[str, t.Any]

_ENDED = ("stop", "eos", "stop_sequence", "end_turn", "")
"""Reasons of endpoints that mean that the model has said all; some give none."""


@dataclass(frozen=True, slots=True)
class Reply:
    """The parts of a chat completion that matter here; whatever is not as it should be is empty."""

    has_choice: bool
    said: str
    refusal: str
    finish_reason: str
    model: str
    tokens: tuple[int, int] | None

    @classmethod
    def of(cls, data: Json, mask: Mask | None = None) -> t.Self:
        """Return what a chat completion says, without the key."""
        choices = data.get("choices")
        choice = _mapping(choices[0] if isinstance(choices, list) and choices else None)
        message = _mapping(choice.get("message"))

        def text(value: object) -> str:
            given = whole(value) if isinstance(value, str) else ""
            return given if mask is None else mask.of(given)

        return cls(
            has_choice=bool(choice),
            said=text(message.get("content")),
            refusal=text(message.get("refusal")),
            finish_reason=text(choice.get("finish_reason")),
            model=text(data.get("model")),
            tokens=_tokens(_mapping(data.get("usage"))),
        )

    @property
    def text(self) -> str:
        """What the model says, without the thoughts that some write before it."""
        return without_thoughts(self.said)

    @property
    def problem(self) -> str | None:
        """Why this is no answer, apart from one that was cut; None if it is one."""
        if self.finish_reason == "content_filter":
            return "a filter of the endpoint held the answer back. Say it in other words"
        if self.refusal:
            return f"the model refuses: {clean(self.refusal)}"
        if not self.has_choice:
            return "the endpoint gave no answer: its list of choices is empty"
        if not self.text.strip():
            return f"the answer is empty (finish_reason {self.finish_reason or 'missing'})"
        if self.finish_reason not in _ENDED:
            reason = clean(self.finish_reason)
            return f"the answer is no text that has ended (finish_reason {reason})"
        return None


def _mapping(value: object) -> Json:
    return value if isinstance(value, dict) else {}


def _tokens(usage: Json) -> tuple[int, int] | None:
    match usage.get("prompt_tokens"), usage.get("completion_tokens"):
        case int(prompt), int(completion) if prompt > 0 and completion >= 0:
            return prompt, completion
    return None
