"""Plugins, found by their entry points: adding one edits no list of ours.

What comes with Couler is found in the same way as what a third party installs.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from functools import lru_cache
from importlib.metadata import (
    EntryPoint,
    EntryPoints,
    PackageNotFoundError,
    distribution,
    entry_points,
)

from couler.errors import ConfigurationError


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
