"""Kubernetes quantities such as `500m` and `1.5Gi`, as exact numbers."""

from __future__ import annotations

import math
import re
from decimal import Decimal

_QUANTITY = re.compile(
    r"(?P<number>[+-]?(?:\d+(?:\.\d*)?|\.\d+))"
    r"(?:(?P<suffix>[KMGTPE]i|[numkMGTPE])|[eE](?P<exponent>[+-]?\d{1,3}))?",
    flags=re.ASCII,
)
_SIZE = re.compile(
    r"(?P<number>\d+(?:\.\d*)?|\.\d+)\s*(?P<unit>[KMGTPE]i|[kKMGTPE])?B?", flags=re.ASCII
)
_BINARY = {name + "i": Decimal(1024) ** power for power, name in enumerate("KMGTPE", start=1)}
_DECIMAL = {name: Decimal(10) ** power for name, power in zip("num", (-9, -6, -3), strict=True)} | {
    name: Decimal(1000) ** power for power, name in enumerate("kMGTPE", start=1)
}
_SUFFIXES = _BINARY | _DECIMAL


def parse_quantity(text: str) -> Decimal:
    """Return the exact number that a quantity stands for."""
    match = _QUANTITY.fullmatch(text)
    if match is None:
        raise ValueError(f'"{text}" is no quantity{_advice(text)}')
    number = Decimal(match["number"])
    if match["suffix"] is not None:
        return number * _SUFFIXES[match["suffix"]]
    if match["exponent"] is not None:
        return number.scaleb(int(match["exponent"]))
    return number


def parse_bytes(text: str) -> int:
    """Return the bytes that a size stands for: a quantity, with or without a final `B`."""
    match = _SIZE.fullmatch(text)
    if match is None:
        raise ValueError(f'"{text}" is no size; write a number and a unit, as in "20GB" or "64Mi"')
    unit = "k" if match["unit"] == "K" else match["unit"]
    return bounded(math.ceil(Decimal(match["number"]) * _SUFFIXES.get(unit, Decimal(1))))


def bounded(size: int) -> int:
    """Return a number of bytes that databases and kernels can hold."""
    if not 0 <= size < 2**63:
        raise ValueError("a size is not negative, and less than 8Ei")
    return size


def _advice(text: str) -> str:
    """Guess what was meant: `4 GB`, `2GiB`, `1gb`, `100K`."""
    loose = re.fullmatch(
        r"\s*(\d+(?:\.\d+)?)\s*([kmgtpe])(i?)b?(?:ytes)?\s*", text, flags=re.IGNORECASE
    )
    if loose is None:
        return '; write a number and a unit, such as "500m", "2" or "1.5Gi"'
    number, letter, binary = loose.groups()
    unit = letter.upper() if binary or letter not in "kK" else "k"
    return f'. Did you mean "{number}{unit}{binary.lower()}"?'
