"""A request to the scripted server, and which rule of a script is for it."""

from __future__ import annotations

import re
import typing as t
from dataclasses import dataclass

from couler.llm.budget import likely_tokens
from couler.llm.prompt_files import TITLE
from tests.fakes.llm.script import Json, Rule, Script

_TOKENS_OF_A_MESSAGE = 4


@dataclass(frozen=True, slots=True)
class Asked:
    """A request as the server has read it."""

    body: Json
    messages: tuple[tuple[str, str], ...]
    prompt: str | None
    version: str | None
    authorization: str | None

    @classmethod
    def of(cls, body: Json, authorization: str | None) -> t.Self:
        """Read a request."""
        if not isinstance(body, dict):
            raise ValueError("the body must be a JSON object")
        messages = body.get("messages")
        if not isinstance(body.get("model"), str) or not body["model"]:
            raise ValueError("you must provide a model parameter")
        if not isinstance(messages, list) or not messages:
            raise ValueError("messages must be a list with at least one message")
        if body.get("stream") or body.get("n", 1) != 1:
            raise ValueError("this server has no streams, and one choice for a request")
        read = tuple(_message(one) for one in messages)
        title = re.match(rf"{TITLE}(\S+) v(\S+)(?:\n|$)", read[0][1])
        is_named = title is not None and read[0][0] in ("system", "developer")
        prompt, version = title.groups() if is_named else (None, None)
        return cls(body, read, prompt, version, authorization)

    @property
    def turn(self) -> int:
        """One more than there are answers so far."""
        return 1 + sum(role == "assistant" for role, _ in self.messages)

    @property
    def form(self) -> str | None:
        """How the form of the answer is asked for: `json_schema`, `json_object` or not."""
        asked = self.body.get("response_format")
        kind = asked.get("type") if isinstance(asked, dict) else None
        return kind if kind in ("json_schema", "json_object") else None

    @property
    def schema_name(self) -> str | None:
        """What the form is called, if a schema asks for it."""
        if self.form != "json_schema":
            return None
        name: str | None = self.body["response_format"].get("json_schema", {}).get("name")
        return name

    @property
    def limit(self) -> int | None:
        """The most tokens of an answer, if that is stated."""
        found: int | None = self.body.get("max_completion_tokens", self.body.get("max_tokens"))
        return found

    @property
    def prompt_tokens(self) -> int:
        """A token for each four bytes of each message, rounded up, and four for each message."""
        return sum(likely_tokens(text) + _TOKENS_OF_A_MESSAGE for _, text in self.messages)

    def fits(self, rule: Rule) -> bool:
        """Return whether a rule is for it, however often that was used."""
        if rule.structured is not None and self.form is None:
            return False
        when = rule.when
        texts = "\n".join(text for _, text in self.messages)
        wanted = (
            (when.prompt, self.prompt),
            (when.version, self.version),
            (when.turn, self.turn),
            (when.schema_name, self.schema_name),
            (when.temperature, self.body.get("temperature")),
            (when.seed, self.body.get("seed")),
        )
        return (
            all(one is None or one == found for one, found in wanted)
            and all(one in texts for one in when.contains)
            and all(one in self.messages[-1][1] for one in when.last)
        )

    def __str__(self) -> str:
        name = "no named prompt" if self.prompt is None else f'"{self.prompt}" v{self.version}'
        form = f", {self.form}" if self.form else ""
        return f"{name}, turn {self.turn}{form}"


def advise(asked: Asked, script: Script, used: list[int]) -> str:
    """Return what to add to a script that has no rule for a request."""
    spent = [
        f"rule {number} is used up (times: {rule.times})"
        for number, rule in enumerate(script.rules, start=1)
        if asked.fits(rule) and rule.times is not None and used[number - 1] >= rule.times
    ]
    also = f" {'; '.join(spent)}." if spent else ""
    when = f"turn: {asked.turn}"
    if asked.prompt is not None:
        when = f"prompt: {asked.prompt}, {when}"
    return (
        f"the script has no rule for this request: {asked}, whose last message begins "
        f"{asked.messages[-1][1][:60]!r}.{also} Add one, such as - {{when: {{{when}}}, "
        'reply: {text: "..."}}'
    )


def _message(one: object) -> tuple[str, str]:
    match one:
        case {"role": str(role), "content": str(content)}:
            return role, content
        case {"role": str(role), "content": list(parts)}:
            texts = [part.get("text", "") for part in parts if isinstance(part, dict)]
            return role, "".join(texts)
    raise ValueError("a message has a role and a content")
