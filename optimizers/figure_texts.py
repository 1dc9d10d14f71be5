"""Seconds, bytes, ages and US dollars in the reasons of passes, with few digits."""

from __future__ import annotations

LEAST_S = 0.001
"""Less than this is told as such: nobody measures it."""

_READABLE = 1e12
"""Larger numbers are told by their power of ten."""

_UNITS = ("KiB", "MiB", "GiB", "TiB")


def seconds_text(seconds: float) -> str:
    """Return a duration in seconds, at least 0, also if it is beyond all bounds."""
    if 0 < seconds < LEAST_S:
        return f"less than {LEAST_S} s"
    return f"{_number(seconds)} s"


def bytes_are(count: int) -> str:
    """Return a size with its verb."""
    if count < 1024:
        return "1 byte is" if count == 1 else f"{count} bytes are"
    size, power = count / 1024, 0
    while size >= 1024 and power < len(_UNITS) - 1:
        size, power = size / 1024, power + 1
    number = _number(size)
    return f"{number} {_UNITS[power]} {'is' if number == '1' else 'are'}"


def age_text(seconds: float) -> str:
    """Return how long something is kept, in minutes, hours or days."""
    for unit, length in (("day", 86_400), ("hour", 3_600)):
        if seconds >= length:
            return _counted(seconds / length, unit)
    return _counted(seconds / 60, "minute")


def _counted(value: float, unit: str) -> str:
    number = _number(value)
    return f"{number} {unit}{'' if number == '1' else 's'}"


def usd_text(value: float) -> str:
    """Return US dollars, of less than one the first two digits."""
    return f"{value:,.2f} USD" if 1 <= value < _READABLE else f"{value:.2g} USD"


def _number(value: float) -> str:
    return f"{value:,.0f}" if 100 <= value < _READABLE else f"{value:.3g}"
