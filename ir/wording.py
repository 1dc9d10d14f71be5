"""Words that go with numbers, in messages and pictures."""

from __future__ import annotations

from collections.abc import Sequence


def counted(count: int, noun: str, plural: str | None = None) -> str:
    """Return a number with what it counts."""
    return f"{count:,} {noun if count == 1 else plural or noun + 's'}"


def power_text(number: float) -> str:
    """Return a number in the short form that people write."""
    if number < 1e4:
        return f"{number:.4g}"
    digits, _, power = f"{number:.3e}".partition("e")
    return f"{float(digits):g}e{int(power)}"


def few_text(names: Sequence[str]) -> str:
    """Return the first three of some names, and how many more there are."""
    shown = ", ".join(names[:3])
    return shown if len(names) <= 3 else f"{shown} and {len(names) - 3:,} more"
