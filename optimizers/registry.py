"""The passes that are installed: found by entry point, loaded when they are asked for."""

from __future__ import annotations

import typing as t
from importlib.metadata import EntryPoint

from couler.optimizers.base import Pass
from couler.options.registry import PluginFactory, PluginKind

if t.TYPE_CHECKING:
    from couler.options.text import PluginText
    from couler.options.types import Option

GROUP = "couler.passes"
"""The group of entry points; each names a class that makes a `Pass` with default options."""

_PASSES: PluginKind[Pass] = PluginKind(GROUP, "pass", Pass)  # type: ignore[type-abstract]  # a protocol that is only compared with


def pass_names() -> tuple[str, ...]:
    """Return the names of the installed passes, sorted; none is loaded."""
    return _PASSES.names()


def get_pass(name: str, **options: object) -> Pass:
    """Load a pass and set its options."""
    return _PASSES.get(name, **options)


def parse_pass(text: str) -> PluginText:
    """Take the text of a pass apart; see `couler.options.text`."""
    from couler.options.text import parse_plugin

    return parse_plugin(_PASSES.what, text)


def read_pass(text: str) -> Pass:
    """Load the pass that a text names, with the options that it gives."""
    return _PASSES.read(text)


def make_pass(parsed: PluginText) -> Pass:
    """Load the pass that a parsed text names; see `read_pass`."""
    return _PASSES.make(parsed)


def built_in_pass(name: str) -> Pass:
    """Load a pass of Couler's own with its default options, without looking at other plugins."""
    return _PASSES.built_in(name)


def load_pass_class(name: str) -> tuple[EntryPoint, PluginFactory, tuple[Option, ...]]:
    """Return where a pass comes from, its class, and its options."""
    return _PASSES.load_class(name)
