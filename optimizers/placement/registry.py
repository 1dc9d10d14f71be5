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
    """Return the names of the installed strategies, sorted; none is loaded.

    Raises
    ------
    ConfigurationError
        Two installed distributions bring a strategy of the same name.
    """
    return _STRATEGIES.names()


def read_strategy(text: str) -> PlacementStrategy:
    """Load the strategy that a text names, with the options that it gives.

    Parameters
    ----------
    text
        Such as `kubernetes` or `upward-rank{objective=cost}`, see `couler.options.text`.

    Raises
    ------
    EngineOptionError
        The text is no strategy, none of that name is installed, it has no such option, or a value
        is of another type than the option.
    ConfigurationError
        The strategy's distribution is broken, or two bring that name.

    Examples
    --------
    >>> read_strategy("fcfs-random{seed=7}")
    FirstComeRandom(seed=7, memory_margin=2.0)
    """
    return _STRATEGIES.read(text)


def default_strategy() -> PlacementStrategy:
    """Load the strategy that places where none is chosen, without looking at other plugins.

    Raises
    ------
    ConfigurationError
        Couler's own distribution is broken.
    """
    return _STRATEGIES.built_in(DEFAULT_STRATEGY)
