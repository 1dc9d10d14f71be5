"""The placement strategies that are installed: found by entry point, loaded when asked for."""

from __future__ import annotations

from couler.optimizers.placement.strategy import PlacementStrategy
from couler.options.registry import PluginKind

__all__ = ["DEFAULT_STRATEGY", "default_strategy", "read_strategy", "strategy_names"]

DEFAULT_STRATEGY = "upward-rank"
"""The name of the strategy that places where none is chosen."""

_STRATEGIES: PluginKind[PlacementStrategy] = PluginKind(
    "couler.placement_strategies",
    "placement strategy",
    PlacementStrategy,  # type: ignore[type-abstract]  # a protocol that is only compared with
)


def strategy_names() -> tuple[str, ...]:
    """Return the names of the installed strategies, sorted; none is loaded."""
    return _STRATEGIES.names()


def read_strategy(text: str) -> PlacementStrategy:
    """Load the strategy that a text names, with the options that it gives."""
    return _STRATEGIES.read(text)


def default_strategy() -> PlacementStrategy:
    """Load the strategy that places where none is chosen, without looking at other plugins."""
    return _STRATEGIES.built_in(DEFAULT_STRATEGY)
