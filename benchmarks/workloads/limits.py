"""Figures beside their limits."""

from __future__ import annotations


def verdict(what: str, figure: float, limit: float, unit: str = "") -> bool:
    """Print a figure beside its limit, and return whether it is within."""
    kept = figure <= limit + 1e-9
    shown = f"{figure:.3f}{unit}"
    print(f"{what:<60}{shown:>12}  limit {limit:g}{unit}  {'ok' if kept else 'OVER'}")
    return kept
