"""How words are written."""


def lower(word: str) -> str:
    """Return a word in small letters, without what ends a sentence."""
    return word.strip(".,!").lower()


def title(word: str) -> str:
    """Return a word as it begins a sentence."""
    return word.title()
