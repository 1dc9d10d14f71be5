"""Characters that a terminal obeys, or that a reader does not see."""

from __future__ import annotations

import re

_CONTROLS = "\x00-\x08\x0b-\x1f\x7f-\x9f"
_UNSEEN = "\xad\u061c\u180e\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb"
_TAGS = "\U000e0000-\U000e007f"

HIDDEN = re.compile(f"[{_CONTROLS}{_UNSEEN}{_TAGS}\ud800-\udfff]")
"""Controls beside tab and line feed, marks of direction and of nothing, separators of lines and
paragraphs that Python and terminals do not take for the same, tags, and halves of characters."""

_HALF = re.compile("[\ud800-\udfff]")

REPLACEMENT = "\ufffd"
"""What stands in place of a character that cannot be shown: U+FFFD."""


def clean(text: str) -> str:
    r"""Return a text without characters that a terminal obeys or a reader does not see."""
    return HIDDEN.sub(REPLACEMENT, text)


def clean_line(text: str, most: int) -> str:
    """Return text of others in one line that no terminal obeys, cut after so many characters."""
    line = " ".join(clean(text).split())
    return line if len(line) <= most else f"{line[:most]}..."


def whole(text: str) -> str:
    r"""Return a text without halves of characters (lone surrogates), which no file can have."""
    return _HALF.sub(REPLACEMENT, text)


def escaped(text: str) -> str:
    r"""Return JSON in which strings have such characters as escapes only: the same values."""
    return HIDDEN.sub(_escape, text)


def _escape(found: re.Match[str]) -> str:
    units = found[0].encode("utf-16-be", "surrogatepass")
    pairs = (units[at : at + 2].hex() for at in range(0, len(units), 2))
    return "".join(f"\\u{one}" for one in pairs)
