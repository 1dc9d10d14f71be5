"""The prompts: what stands in them, and how text that nobody trusts is set apart."""

from __future__ import annotations

import re
from collections.abc import Sequence

from couler.generation.card import api_card
from couler.generation.lake import CodeLake, Snippet
from couler.generation.options import GenerateOptions
from couler.llm import Prompt, render_prompt

__all__ = ["Prompts", "set_apart"]

_PACKAGE = "couler.generation"


class Prompts:
    """Prompts with the rules, the card and the snippets that the options ask for."""

    def __init__(self, options: GenerateOptions, lake: CodeLake) -> None:
        self._rules = options.use_rules
        self._card = api_card() if options.use_card else ""
        self._lake = lake if options.use_lake else None
        self._count = options.snippets

    def snippets(self, query: str) -> tuple[Snippet, ...]:
        """Return the snippets for a text."""
        return () if self._lake is None else self._lake.search(query, self._count)

    def render(self, name: str, *, snippets: Sequence[Snippet] = (), **values: object) -> Prompt:
        """Return a prompt of this package."""
        texts = [
            (set_apart(one.summary, "summary"), set_apart(one.code, "code")) for one in snippets
        ]
        given = {"rules": self._rules, "card": self._card, "snippets": texts, **values}
        return render_prompt(_PACKAGE, name, **given)


def set_apart(text: str, tag: str) -> str:
    r"""Return a text between tags, none of which it can close itself, however it is written."""
    inside = re.sub(rf"<(\s*)/(?=\s*{re.escape(tag)})", r"<\1\\/", text, flags=re.IGNORECASE)
    return f"<{tag}>\n{inside}\n</{tag}>"
