"""Texts of reviews as words."""

from pathlib import Path

from . import spelling

STOP_WORDS = set((Path(__file__).parent / "data" / "stop_words.txt").read_text().split())


def words(text: str) -> list[str]:
    """Return the words of a text that say something."""
    return [spelling.lower(one) for one in text.split() if one.lower() not in STOP_WORDS]
