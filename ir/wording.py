"""Words that go with numbers, in messages and pictures."""

from __future__ import annotations

from collections.abc import Sequence


def counted(count: int, noun: str, plural: str | None = None) -> str:
    """Return a number with what it counts.

    Parameters
    ----------
    count
        How many there are.
    noun
        What one of them is called.
    plural
        What several are called; by default the noun with an s.

    Examples
    --------
    >>> counted(1, "step"), counted(1200, "step"), counted(0, "entry", "entries")
    ('1 step', '1,200 steps', '0 entries')
    """
    return f"{count:,} {noun if count == 1 else plural or noun + 's'}"


def power_text(number: float) -> str:
    """Return a number in the short form that people write.

    Examples
    --------
    >>> power_text(1.2e9), power_text(3e12), power_text(500.0), power_text(0.0)
    ('1.2e9', '3e12', '500', '0')
    """
    if number < 1e4:
        return f"{number:.4g}"
    digits, _, power = f"{number:.3e}".partition("e")
    return f"{float(digits):g}e{int(power)}"


def few_text(names: Sequence[str]) -> str:
    """Return the first three of some names, and how many more there are.

    Examples
    --------
    >>> few_text(["a", "b"]), few_text(["a", "b", "c", "d", "e"])
    ('a, b', 'a, b, c and 2 more')
    """
    shown = ", ".join(names[:3])
    return shown if len(names) <= 3 else f"{shown} and {len(names) - 3:,} more"
