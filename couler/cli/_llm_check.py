"""What `couler llm check` finds out of an endpoint."""

from __future__ import annotations

import typing as t
from dataclasses import dataclass

from pydantic import BaseModel

from couler.llm import LlmSettings, Usage, render_prompt

if t.TYPE_CHECKING:
    from couler.llm.client import OpenedModel
    from couler.llm.reading import FoundSettings

_FORMS = {
    "schema": "the endpoint is sent the JSON schema",
    "text": "prompts state the JSON schema",
}


class Checked(BaseModel):
    """The form of an answer that is asked for in a check."""

    answer: str


@dataclass(frozen=True, slots=True)
class Outcome:
    """What an endpoint answered."""

    model: str
    text: str
    structured: str | None
    usage: Usage

    def to_json(self) -> dict[str, t.Any]:
        """Return it as JSON."""
        usage = self.usage
        return {
            "model": self.model,
            "answer": self.text,
            "structured": self.structured,
            "usage": {
                "calls": usage.calls,
                "prompt_tokens": usage.prompt_tokens,
                "completion_tokens": usage.completion_tokens,
                "estimated_calls": usage.estimated_calls,
                "seconds": round(usage.seconds, 3),
                "cost": usage.cost,
            },
        }

    def lines(self, settings: LlmSettings) -> list[str]:
        """Return it for people."""
        from couler.cli.language_model import usage_text

        price = settings.price
        stated = (
            f'not known: [tool.couler.llm.prices."{settings.model}"] can state it'
            if price is None
            else f"{price.prompt:g} and {price.completion:g} {settings.currency} for a million "
            "tokens of prompts and of answers"
        )
        answer = " ".join(self.text.split())[:60]
        form = (
            "this is a recording; no endpoint was asked"
            if self.structured is None
            else f"structured answers: {_FORMS[self.structured]}"
        )
        return [
            "",
            f"it answers: {answer!r}, as {self.model}",
            form,
            f"price: {stated}",
            usage_text(self.usage, settings.currency),
        ]


def check_endpoint(model: OpenedModel) -> Outcome:
    """Ask for a text, then for a form."""
    prompt = render_prompt("couler.llm", "check")
    answer = model.ask(prompt)
    model.ask_for(prompt, Checked)
    return Outcome(answer.model, answer.text.strip(), model.structured, model.usage)


def rows_of(found: FoundSettings) -> list[tuple[str, str, str]]:
    """Return a table of the settings: name, value, and where it comes from."""
    values = settings_json(found)
    rows = [("setting", "value", "from")]
    for name, one in values.items():
        value = one["value"]
        rows.append((name, "none" if value is None else str(value), one["origin"]))
    return rows


def settings_json(found: FoundSettings) -> dict[str, dict[str, t.Any]]:
    """Return the settings with their origins; of the key, whether there is one."""
    settings = found.settings
    values: dict[str, t.Any] = {
        "base-url": settings.base_url,
        "model": settings.model or None,
        "api-key": "set" if settings.api_key else None,
        "structured": settings.structured,
        "timeout": settings.timeout_s,
        "max-retries": settings.max_retries,
        "temperature": settings.temperature,
        "seed": settings.seed,
        "answer-tokens": settings.answer_tokens,
        "max-tokens-total": settings.max_tokens_total,
        "max-cost": settings.max_cost,
        "currency": settings.currency,
    }
    return {name: {"value": value, "origin": found.origins[name]} for name, value in values.items()}
