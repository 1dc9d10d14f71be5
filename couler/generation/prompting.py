"""The prompts: what stands in them, and how text that nobody trusts is set apart."""

from __future__ import annotations

import re

from couler.generation.card import api_card
from couler.generation.lake import CodeLake
from couler.llm import Prompt, render_prompt
from couler.llm.budget import likely_tokens

_PACKAGE = "couler.generation"

PROMPT_TOKENS = 3_500
"""Snippets are added as long as a prompt has no more tokens, estimated by its bytes."""

_MOST_SNIPPETS = 4
_HEADING = 20  # tokens of the sentence above the snippets


class Prompts:
    """Prompts with the rules, the card and the snippets that fit."""

    def __init__(self, lake: CodeLake) -> None:
        self._lake = lake

    def render(self, name: str, query: str, **values: object) -> tuple[Prompt, tuple[str, ...]]:
        """Return a prompt, and the names of the snippets that it has for a query."""
        given = {"card": api_card(), **values}
        prompt = render_prompt(_PACKAGE, name, snippets=(), **given)
        left = PROMPT_TOKENS - _HEADING - sum(likely_tokens(one.content) for one in prompt.messages)
        shown: list[tuple[str, str]] = []
        names: list[str] = []
        for one in self._lake.search(query, _MOST_SNIPPETS):
            texts = set_apart(one.summary, "summary"), set_apart(one.code, "code")
            if (tokens := sum(map(likely_tokens, texts)) + 1) <= left:
                left -= tokens
                shown.append(texts)
                names.append(one.name)
        return render_prompt(_PACKAGE, name, snippets=shown, **given), tuple(names)


def set_apart(text: str, tag: str) -> str:
    r"""Return a text between tags, none of which it can close itself, however it is written."""
    inside = re.sub(rf"<(\s*)/(?=\s*{re.escape(tag)})", r"<\1\\/", text, flags=re.IGNORECASE)
    return f"<{tag}>\n{inside}\n</{tag}>"
