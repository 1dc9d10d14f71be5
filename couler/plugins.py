"""Plugins: found by entry point, loaded when asked for, made with the options of a text."""

from __future__ import annotations

import dataclasses
import os
import sys
import typing as t
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from functools import lru_cache
from importlib.metadata import (
    EntryPoint,
    EntryPoints,
    PackageNotFoundError,
    distribution,
    entry_points,
)

from couler.errors import ConfigurationError, CoulerError, EngineOptionError
from couler.ir.diagnostics import did_you_mean

if t.TYPE_CHECKING:
    from couler.plugin_options import Option, PluginText


def find_plugins(group: str) -> dict[str, EntryPoint]:
    """Return the entry points of a group by name, sorted; none is loaded.

    Parameters
    ----------
    group
        Name of the group, such as `couler.backends`.

    Raises
    ------
    ConfigurationError
        Two installed distributions use the same name.

    Notes
    -----
    All distributions are read at the first call, and again once a folder of `sys.path` has changed:
    what is installed while the program runs is found.
    """
    return dict(_find(group, _where_plugins_are()))


def _where_plugins_are() -> tuple[object, ...]:
    """Return what changes once a distribution is installed, is removed, or can be found."""
    return (*map(_changed, sys.path), *map(id, sys.meta_path))


def _changed(folder: str) -> tuple[str, int]:
    try:
        folder = folder or os.getcwd()
        return folder, os.stat(folder).st_mtime_ns
    except OSError:  # no folder, such as an archive that is not there
        return folder, 0


@lru_cache(maxsize=64)
def _find(group: str, _where: tuple[object, ...]) -> dict[str, EntryPoint]:
    """Read what all distributions bring, which takes a file of each."""
    found: dict[str, EntryPoint] = {}
    for entry in sorted(entry_points(group=group), key=lambda entry: (entry.name, entry.value)):
        other = found.setdefault(entry.name, entry)
        if other is not entry:
            raise ConfigurationError(
                f'{distribution_of(other)} and {distribution_of(entry)} both bring a plugin "'
                f'{entry.name}" of {group} ({other.value}, {entry.value}). Uninstall one of them'
            )
    return found


def find_own_plugin(group: str, name: str) -> EntryPoint | None:
    """Return an entry point of Couler's own distribution, or None if it has none of that name.

    Notes
    -----
    Reads one distribution, where `find_plugins` reads all. Whether another one uses the name, too,
    is found out by `find_plugins`.
    """
    return next(iter(_own_plugins(_where_plugins_are()).select(group=group, name=name)), None)


@lru_cache(maxsize=1)
def _own_plugins(_where: tuple[object, ...]) -> EntryPoints:
    try:
        return distribution("couler").entry_points
    except PackageNotFoundError:  # a checkout that is on the path and not installed
        return EntryPoints()


def load_plugin(entry: EntryPoint) -> object:
    """Import what an entry point names.

    Raises
    ------
    ConfigurationError
        The import failed; the message names the distribution and the cause.
    """
    with blamed_on(entry):
        loaded: object = entry.load()
    return loaded


@contextmanager
def blamed_on(entry: EntryPoint, *passed: type[Exception]) -> Iterator[None]:
    """Tell what a plugin raises, but for errors of some classes, as one of its distribution.

    Raises
    ------
    ConfigurationError
        The plugin failed; the message names the distribution and the cause.
    """
    try:
        yield
    except passed:
        raise
    except (Exception, SystemExit) as error:  # a plugin can raise anything; the cause is kept
        raise broken_plugin(entry, cause_of(error)) from error


def cause_of(error: BaseException) -> str:
    """Return what a plugin raised as one line of a message: its class and text."""
    return f"{type(error).__name__}: {on_one_line(str(error))}"


def on_one_line(text: str) -> str:
    r"""Return a text of a plugin as one line of a message.

    Examples
    --------
    >>> on_one_line("boom\n  second line\n")
    'boom second line'
    """
    return " ".join(text.split())


def broken_plugin(entry: EntryPoint, cause: str) -> ConfigurationError:
    """Return the error that says which distribution brought a plugin that cannot be used."""
    return ConfigurationError(
        f'the plugin "{entry.name}" ({entry.value}) of {distribution_of(entry)} cannot be used: '
        f"{cause}. Upgrade or uninstall {distribution_of(entry)}"
    )


def distribution_of(entry: EntryPoint) -> str:
    """Return the name of the distribution that declares an entry point."""
    return entry.dist.name if entry.dist is not None else "an unnamed distribution"


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
        from couler.plugin_options import parse_plugin

        return self.make(parse_plugin(self.what, text))

    def make(self, parsed: PluginText) -> P:
        """Load the plugin that a parsed text names; see `read`."""
        from couler.plugin_options import convert_options

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
        from couler.plugin_options import options_of_class

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
