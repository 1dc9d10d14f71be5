"""How wide a text is likely to be: there is no font to ask, so classes of letters must do."""

from __future__ import annotations

import unicodedata

# Widths in units of the font's size, after Helvetica's.
_CLASSES = {
    0.27: "ijl.,:;'|!I ",
    0.38: 'ftr()[]{}/-`"\\*',
    0.53: "ckszJvxy?_",
    0.70: "ABCDEGHKNOPQRSTUVXYZ&+<>=~#",
    0.90: "mwMW@%—…",
}
_WIDTHS = {letter: width for width, letters in _CLASSES.items() for letter in letters}
_OTHER = 0.59
_BOLD = 1.07
_ROOM = 1.07
"""For viewers that have only wider fonts."""


def text_width(text: str, size: float, *, bold: bool = False) -> float:
    """Return the likely width of a line of text, in pixels."""
    total = sum(map(_letter_width, text))
    return total * size * _ROOM * (_BOLD if bold else 1.0)


def fit(text: str, size: float, width: float, *, bold: bool = False) -> str:
    """Return the text, cut with an ellipsis if it is wider than a number of pixels."""
    if text_width(text, size, bold=bold) <= width:
        return text
    while text and text_width(text + "…", size, bold=bold) > width:
        text = text[:-1]
    return text.rstrip() + "…"


def _letter_width(letter: str) -> float:
    if letter in _WIDTHS:
        return _WIDTHS[letter]
    if letter.isascii():
        return _OTHER
    if unicodedata.combining(letter):
        return 0.0
    return 1.0 if unicodedata.east_asian_width(letter) in "WF" else 0.66
