"""The passes that are installed: found by entry point, loaded when they are asked for."""

from __future__ import annotations

import typing as t
from collections.abc import Callable, Mapping
from importlib.metadata import EntryPoint

from couler.errors import EngineOptionError
from couler.ir.diagnostics import did_you_mean
from couler.optimizers.base import Pass
from couler.optimizers.option_types import Option, convert_options, options_of_class
from couler.optimizers.pass_text import PassText, parse_pass
from couler.plugins import broken_plugin, find_own_plugin, find_plugins, load_plugin

GROUP = "couler.passes"
"""The group of entry points; each names a class that makes a `Pass` with default options."""

PassFactory: t.TypeAlias = Callable[..., t.Any]
"""What an entry point names: a class."""


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
        No pass of that name is installed, it has no such option, or it refuses a value.
    ConfigurationError
        The pass's distribution is broken, or two bring that name.
    """
    entry = _find(name, name)
    return _make(entry, _factory_of(entry), options)


def read_pass(text: str) -> Pass:
    """Load the pass that a text names, with the options that it gives.

    Parameters
    ----------
    text
        Such as `split` or `split{group_steps=200}`, see `couler.optimizers.pass_text`.

    Raises
    ------
    EngineOptionError
        The text is no pass, none of that name is installed, it has no such option, or a value is
        of another type than the option.
    ConfigurationError
        The pass's distribution is broken, or two bring that name.
    """
    return make_pass(parse_pass(text))


def make_pass(parsed: PassText) -> Pass:
    """Load the pass that a parsed text names; see `read_pass`."""
    entry = _find(parsed.name, parsed.text)
    factory = _factory_of(entry)
    if not parsed.options:
        return _make(entry, factory, {})
    try:
        options = convert_options(factory, parsed)
    except NameError as error:  # an annotation names what its module does not have at run time
        raise broken_plugin(entry, f"the type of an option is not known: {error}") from error
    return _make(entry, factory, options)


def built_in_pass(name: str) -> Pass:
    """Load a pass of Couler's own with its default options, without looking at other plugins.

    Raises
    ------
    EngineOptionError, ConfigurationError
        As `get_pass`.
    """
    entry = find_own_plugin(GROUP, name)
    return get_pass(name) if entry is None else _make(entry, _factory_of(entry), {})


def load_pass_class(name: str) -> tuple[EntryPoint, PassFactory, tuple[Option, ...]]:
    """Return where a pass comes from, its class, and its options.

    Raises
    ------
    EngineOptionError
        No pass of that name is installed.
    ConfigurationError
        The pass's distribution is broken, or two bring that name.
    """
    entry = _find(name, name)
    factory = _factory_of(entry)
    try:
        return entry, factory, options_of_class(factory)
    except NameError as error:
        raise broken_plugin(entry, f"the type of an option is not known: {error}") from error


def _find(name: str, text: str) -> EntryPoint:
    plugins = find_plugins(GROUP)
    if name not in plugins:
        known = ", ".join(plugins) or "none"
        place = "" if text == name else f"the pass {text!r}, character 1: "
        raise EngineOptionError(
            f'{place}there is no pass "{name}"; installed: {known}.{did_you_mean(name, plugins)}'
        )
    return plugins[name]


def _factory_of(entry: EntryPoint) -> PassFactory:
    factory = load_plugin(entry)
    if not callable(factory):
        raise broken_plugin(entry, f"{factory!r} is no class that makes a pass")
    return factory


def _make(entry: EntryPoint, factory: PassFactory, options: Mapping[str, object]) -> Pass:
    try:
        pass_ = factory(**options)
    except (TypeError, ValueError) as error:  # an option that it lacks, or a value that it refuses
        raise EngineOptionError(f'pass "{entry.name}": {error}') from error
    if not isinstance(pass_, Pass):
        raise broken_plugin(entry, f"{type(pass_).__name__} lacks members of Pass")
    if pass_.name != entry.name:
        raise broken_plugin(entry, f'it calls itself "{pass_.name}"')
    return pass_
