"""The prompts: what stands in them, and how text that nobody trusts is set apart."""

from __future__ import annotations

import re

from couler.generation.card import api_card
from couler.generation.lake import CodeLake
from couler.llm import Prompt, render_prompt
from couler.llm.budget import likely_tokens

_PACKAGE = "couler.generation"

PROMPT_TOKENS = 3_500
"""Snippets are added as long as a prompt has no more tokens."""

_MOST_SNIPPETS = 4


class Prompts:
    """Prompts with the rules, the card and the snippets that fit."""

    def __init__(self, lake: CodeLake) -> None:
        self._lake = lake

    def render(self, name: str, query: str, **values: object) -> tuple[Prompt, tuple[str, ...]]:
        """Return a prompt, and the names of the snippets that it has for a query."""
        given = {"card": api_card(), **values}
        prompt = render_prompt(_PACKAGE, name, snippets=(), **given)
        shown: list[tuple[str, str]] = []
        names: list[str] = []
        for one in self._lake.search(query, _MOST_SNIPPETS):
            more = [*shown, (set_apart(one.summary, "summary"), set_apart(one.code, "code"))]
            larger = render_prompt(_PACKAGE, name, snippets=more, **given)
            if sum(likely_tokens(said.content) for said in larger.messages) <= PROMPT_TOKENS:
                prompt, shown = larger, more
                names.append(one.name)
        return prompt, tuple(names)


def set_apart(text: str, tag: str) -> str:
    r"""Return a text between tags, none of which it can close itself, however it is written."""
    inside = re.sub(rf"<(\s*)/(?=\s*{re.escape(tag)})", r"<\1\\/", text, flags=re.IGNORECASE)
    return f"<{tag}>\n{inside}\n</{tag}>"
