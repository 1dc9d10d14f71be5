"""Engines: each folder turns a workflow into what one engine understands."""

from __future__ import annotations

if __name__ == "backends":  # reached past the package, e.g. from the repository root
    raise ImportError("import couler.backends, not backends")

from couler.backends.base import Backend
from couler.errors import EngineOptionError
from couler.ir.diagnostics import did_you_mean
from couler.plugins import broken_plugin, find_plugins, load_plugin

GROUP = "couler.backends"
"""The group of entry points; each names a class that makes a `Backend` without arguments."""


def backend_names() -> tuple[str, ...]:
    """Return the names of the installed engines, sorted; none is loaded."""
    return tuple(find_plugins(GROUP))


def get_backend(name: str) -> Backend:
    """Load an engine."""
    plugins = find_plugins(GROUP)
    if name not in plugins:
        known = ", ".join(plugins) or "none"
        raise EngineOptionError(
            f'there is no engine "{name}"; installed: {known}.{did_you_mean(name, plugins)}'
        )
    entry = plugins[name]
    factory = load_plugin(entry)
    if not callable(factory):
        raise broken_plugin(entry, f"{factory!r} is no class that makes a backend")
    backend = factory()
    if not isinstance(backend, Backend):
        raise broken_plugin(entry, f"{type(backend).__name__} lacks members of Backend")
    if backend.name != name:
        raise broken_plugin(entry, f'it calls itself "{backend.name}"')
    return backend
