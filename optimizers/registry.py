"""The passes that are installed: found by entry point, loaded when they are asked for."""

from __future__ import annotations

from couler.errors import EngineOptionError
from couler.ir.diagnostics import did_you_mean
from couler.optimizers.base import Pass
from couler.plugins import broken_plugin, find_plugins, load_plugin

GROUP = "couler.passes"
"""The group of entry points; each names a class that makes a `Pass` with default options."""


def pass_names() -> tuple[str, ...]:
    """Return the names of the installed passes, sorted; none is loaded.

    Raises
    ------
    ConfigurationError
        Two installed distributions bring a pass of the same name.
    """
    return tuple(find_plugins(GROUP))


def get_pass(name: str, **options: object) -> Pass:
    """Load a pass and set its options.

    Raises
    ------
    EngineOptionError
        No pass of that name is installed, or it has no such option.
    ConfigurationError
        The pass's distribution is broken, or two bring that name.
    """
    plugins = find_plugins(GROUP)
    if name not in plugins:
        known = ", ".join(plugins) or "none"
        raise EngineOptionError(
            f'there is no pass "{name}"; installed: {known}.{did_you_mean(name, plugins)}'
        )
    entry = plugins[name]
    factory = load_plugin(entry)
    if not callable(factory):
        raise broken_plugin(entry, f"{factory!r} is no class that makes a pass")
    try:
        pass_ = factory(**options)
    except TypeError as error:
        raise EngineOptionError(f'pass "{name}": {error}') from error
    if not isinstance(pass_, Pass):
        raise broken_plugin(entry, f"{type(pass_).__name__} lacks members of Pass")
    if pass_.name != name:
        raise broken_plugin(entry, f'it calls itself "{pass_.name}"')
    return pass_
