"""Plugins with options that are chosen by a text, as `split{group_steps=200}`."""

from __future__ import annotations

import dataclasses
import typing as t
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from importlib.metadata import EntryPoint

from couler.errors import CoulerError, EngineOptionError
from couler.ir.diagnostics import did_you_mean
from couler.plugins import (
    blamed_on,
    broken_plugin,
    find_own_plugin,
    find_plugins,
    load_plugin,
)

if t.TYPE_CHECKING:
    from couler.options.text import PluginText
    from couler.options.types import Option


def default_of(field: dataclasses.Field[t.Any]) -> t.Any:
    """Return the default value of an option."""
    if field.default_factory is not dataclasses.MISSING:
        return field.default_factory()
    return field.default


PluginFactory: t.TypeAlias = Callable[..., t.Any]
"""What an entry point names: a class, whose instances with default options are plugins."""

P = t.TypeVar("P")


@dataclass(frozen=True, slots=True)
class PluginKind(t.Generic[P]):
    """What plugins of one group of entry points have in common."""

    group: str
    what: str
    interface: type[P]

    def names(self) -> tuple[str, ...]:
        """Return the names of the installed plugins, sorted; none is loaded."""
        return tuple(find_plugins(self.group))

    def read(self, text: str) -> P:
        """Load the plugin that a text names, with the options that it gives."""
        from couler.options.text import parse_plugin

        return self.make(parse_plugin(self.what, text))

    def make(self, parsed: PluginText) -> P:
        """Load the plugin that a parsed text names; see `read`."""
        from couler.options.types import convert_options

        entry = self._find(parsed.name, parsed.text)
        factory = _factory_of(entry, self.what)
        if not parsed.options:
            return self._make(entry, factory, {})
        try:
            options = convert_options(factory, parsed)
        except NameError as error:  # an annotation names what its module does not have at run time
            raise broken_plugin(entry, f"the type of an option is not known: {error}") from error
        return self._make(entry, factory, options)

    def built_in(self, name: str) -> P:
        """Load a plugin of Couler's own with its default options, without looking at others."""
        entry = find_own_plugin(self.group, name)
        if entry is None:
            return self.read(name)
        return self._make(entry, _factory_of(entry, self.what), {})

    def load_class(self, name: str) -> tuple[EntryPoint, PluginFactory, tuple[Option, ...]]:
        """Return where a plugin comes from, its class, and its options."""
        from couler.options.types import options_of_class

        entry = self._find(name, name)
        factory = _factory_of(entry, self.what)
        try:
            return entry, factory, options_of_class(factory)
        except NameError as error:
            raise broken_plugin(entry, f"the type of an option is not known: {error}") from error

    def _find(self, name: str, text: str) -> EntryPoint:
        plugins = find_plugins(self.group)
        if name not in plugins:
            known = ", ".join(plugins) or "none"
            place = "" if text == name else f"the {self.what} {text!r}, character 1: "
            raise EngineOptionError(
                f'{place}there is no {self.what} "{name}"; installed: {known}.'
                f"{did_you_mean(name, plugins)}"
            )
        return plugins[name]

    def _make(self, entry: EntryPoint, factory: PluginFactory, options: Mapping[str, object]) -> P:
        # Of an option that it lacks, a value that it refuses; its own values it cannot refuse.
        refusals = (TypeError, ValueError) if options or _must_be_told(factory) else ()
        try:
            with blamed_on(entry, CoulerError, *refusals):
                plugin = factory(**options)
        except refusals as error:
            raise EngineOptionError(f'{self.what} "{entry.name}": {error}') from error
        if not isinstance(plugin, self.interface):
            lacks = f"lacks members of {self.interface.__name__}"
            raise broken_plugin(entry, f"{type(plugin).__name__} {lacks}")
        name = getattr(plugin, "name", entry.name)
        if name != entry.name:
            raise broken_plugin(entry, f'it calls itself "{name}"')
        return plugin


def _must_be_told(factory: PluginFactory) -> bool:
    """Return whether a class has an option without a default."""
    return dataclasses.is_dataclass(factory) and any(
        one.init and one.default is dataclasses.MISSING is one.default_factory
        for one in dataclasses.fields(factory)
    )


def _factory_of(entry: EntryPoint, what: str) -> PluginFactory:
    factory = load_plugin(entry)
    if not callable(factory):
        raise broken_plugin(entry, f"{factory!r} is no class that makes a {what}")
    return factory
