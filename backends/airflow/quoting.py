"""Texts as Python source, in the quotes and at the width that ruff's formatter gives them."""

from __future__ import annotations

import unicodedata

_BOTH = "'\""
"""At the end of a text these let `repr` write all texts in one kind of quotes."""

_HANGUL = range(0x1160, 0x1200)
"""Vowels and finals, which join the letter before."""


def quoted(text: str) -> str:
    r"""Return a text as Python source, in double quotes where that takes no more escapes."""
    body = repr(text + _BOTH)[1 : -len(_BOTH) - 2].replace("\\'", "'")
    quote = '"' if text.count('"') <= text.count("'") else "'"
    return f"{quote}{body.replace(quote, chr(92) + quote)}{quote}"


def width(text: str) -> int:
    """Return the columns that a text takes: none for marks on other letters, two for wide ones."""
    return len(text) if text.isascii() else sum(map(_columns, text))


def _columns(letter: str) -> int:
    if unicodedata.east_asian_width(letter) in "WF":
        return 2
    if unicodedata.category(letter) in ("Mn", "Me", "Cf") or ord(letter) in _HANGUL:
        return 0
    return 1


def text_block(text: str) -> str | None:
    r"""A text of several lines as a block of them, or None where it would not be the same."""
    if "\n" not in text or not all(one.isprintable() or one in "\n\t" for one in text):
        return None
    if text[-1] in "\\\"'" or text[0] in "\"'":
        return None
    quotes = "'''" if '"""' in text else '"""'
    if quotes in text:
        return None
    return f"r{quotes}{text}{quotes}" if "\\" in text else f"{quotes}\\\n{text}{quotes}"
