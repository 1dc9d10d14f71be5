"""Durations and quantities, as programs write them."""

from __future__ import annotations

import math
import re

_UNITS = {"ms": 0.001, "s": 1, "m": 60, "h": 3600, "d": 86400}
_PART = re.compile(r"(\d+(?:\.\d+)?)(ms|s|m|h|d)")
_DURATION = re.compile(rf"(?:{_PART.pattern})+")


def parse_duration(value: object, *, may_be_zero: bool = False) -> float:
    """Return a duration in seconds."""
    seconds: float
    if isinstance(value, bool) or not isinstance(value, int | float | str):
        raise ValueError(f"{value!r} is no duration; write seconds, or text such as '20m'")
    if isinstance(value, str):
        text = value.replace(" ", "")
        if re.fullmatch(r"\d+(\.\d+)?", text):
            seconds = float(text)
        elif _DURATION.fullmatch(text):
            seconds = sum(float(n) * _UNITS[unit] for n, unit in _PART.findall(text))
        else:
            raise ValueError(f"{value!r} is no duration; write '90s', '20m', '1h30m' or '2d'")
    else:
        seconds = float(value)
    is_enough = seconds >= 0 if may_be_zero else seconds > 0
    if not is_enough or math.isinf(seconds):
        raise ValueError(f"{value!r} is no duration; it must be more than 0 seconds")
    return seconds


def quantity(value: object) -> str:
    """Return an amount of a resource as text; other text is left for verification to judge."""
    if isinstance(value, str):
        return value
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise ValueError(f"{value!r} is no quantity; write '500m', '1Gi' or a number")
    if not math.isfinite(value) or value < 0:
        raise ValueError(f"{value!r} is no quantity")
    return str(int(value)) if value == int(value) else f"{math.ceil(value * 1000)}m"


def memory(value: object) -> str:
    """Return an amount of memory or disk as text."""
    is_bare = is_number(value) if isinstance(value, str) else not isinstance(value, bool)
    if isinstance(value, int | float | str) and is_bare and 0 < float(value) < 2**20:
        told = value.strip() if isinstance(value, str) else f"{value:g}"
        raise ValueError(f"{value!r} would be bytes; write '{told}Gi' or '{told}Mi'")
    return quantity(value)


def is_number(text: str) -> bool:
    """Return whether a text is a plain number, without a unit."""
    return re.fullmatch(r"\s*\d+(\.\d+)?\s*", text) is not None
