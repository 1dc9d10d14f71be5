"""How many tokens a request can take, before anybody has counted them."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence

from couler.llm.dialogue import Message

_AROUND_A_MESSAGE = 16
_AROUND_A_DIALOGUE = 64
"""What templates of chats add: marks of turns, and lines such as the date."""


def most_tokens(messages: Sequence[Message], schema: Mapping[str, object] | None = None) -> int:
    """Return a number of tokens that a prompt does not pass."""
    texts = sum(_AROUND_A_MESSAGE + bytes_of(one.content) for one in messages)
    form = 0 if schema is None else bytes_of(json.dumps(schema, ensure_ascii=False))
    return _AROUND_A_DIALOGUE + texts + form


def likely_tokens(text: str) -> int:
    """Return about how many tokens a text takes: one for each four bytes of UTF-8."""
    return -(-bytes_of(text) // 4)


def bytes_of(text: str) -> int:
    """Return the size of a text in UTF-8."""
    return len(text.encode("utf-8", errors="surrogatepass"))
