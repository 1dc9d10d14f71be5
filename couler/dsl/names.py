"""Names that are made where a program gives none."""

from __future__ import annotations

from collections.abc import Container


def free_among(taken: Container[str], base: str) -> str:
    """Return a name that is not taken: the given one, or that with a number."""
    if base not in taken:
        return base
    count = 2
    while f"{base}_{count}" in taken:
        count += 1
    return f"{base}_{count}"
