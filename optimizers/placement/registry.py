"""The placement strategies that are installed: found by entry point, loaded when asked for."""

from __future__ import annotations

from couler.optimizers.placement.strategy import PlacementStrategy
from couler.plugins import PluginKind

STRATEGIES: PluginKind[PlacementStrategy] = PluginKind(
    "couler.placement_strategies",
    "placement strategy",
    PlacementStrategy,  # type: ignore[type-abstract]  # a protocol that is only compared with
)


def read_strategy(text: str) -> PlacementStrategy:
    """Load the strategy that a text names, with the options that it gives."""
    return STRATEGIES.read(text)
