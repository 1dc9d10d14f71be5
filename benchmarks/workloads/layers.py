"""Layers of steps that each wait for two of the layer before; without imports, for any tool."""

from __future__ import annotations

WIDTH = 50
"""Steps in a layer."""


def parents(index: int) -> tuple[int, ...]:
    """Return the two steps of the layer before that a step waits for."""
    return tuple(parent for parent in (index - WIDTH, index - WIDTH + 1) if 0 <= parent < index - 1)
