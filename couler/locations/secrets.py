"""Where a run on this machine finds the secrets and config maps that a workflow names."""

from __future__ import annotations

import re
import typing as t
from collections.abc import Iterator, Mapping
from functools import cached_property
from pathlib import Path

from couler.errors import ConfigurationError
from couler.ir.storage import ENTRIES, ConfigKey, EnvFrom, SecretKey
from couler.ir.traversal import Traversal
from couler.ir.walk import all_steps, skippable, steps_by_path
from couler.ir.workflow import Workflow

_SECRET = "SECRET"
_CONFIG = "CONFIG"

GivenSecrets: t.TypeAlias = Mapping[str, Mapping[str, str]]
"""Values of secrets that a program knows, by the names of the secrets and their keys."""


class Entries:
    """The entries of secrets and config maps."""

    def __init__(
        self,
        environ: Mapping[str, str],
        given: GivenSecrets | None = None,
        workflow: Workflow | None = None,
    ) -> None:
        self._environ = environ
        self._given = {} if given is None else given
        self._workflow = workflow

    def find(self, key: SecretKey | ConfigKey) -> str | None:
        """Return the value of an entry, None if there is none."""
        kind, name = _place(key)
        value = self._environ.get(variable_name(key))
        if value is not None:
            return value
        folder = self._folder(kind, name)
        value = None if folder is None else _read(folder / key.key)
        if value is None and kind == _SECRET:
            value = self._given.get(name, {}).get(key.key)
        return value

    def require(self, key: SecretKey | ConfigKey) -> str | None:
        """Return the value of an entry; None if there is none and it is optional."""
        value = self.find(key)
        if value is None and not key.optional:
            raise ConfigurationError(missing_entry(key))
        return value

    def variable(self, name: str) -> str | None:
        """Return a variable of the environment in which the run was started."""
        return self._environ.get(name)

    def all_of(self, source: EnvFrom) -> dict[str, str]:
        """Return all entries of a secret or config map, by key with the prefix."""
        kind, name = (
            (_SECRET, source.secret) if source.secret is not None else (_CONFIG, source.config_map)
        )
        if name is None:
            return {}
        found = dict(self._given.get(name, {})) if kind == _SECRET else {}
        folder = self._folder(kind, name)
        if folder is not None and folder.is_dir():
            for path in sorted(folder.iterdir()):
                value = _read(path)
                if value is not None:
                    found[path.name] = value
        start = _prefix(kind, name)
        longer = tuple(
            one for one in self._prefixes(kind) if one != start and one.startswith(start)
        )
        for variable, value in self._environ.items():
            if variable.startswith(start) and not variable.startswith(longer):
                found[variable.removeprefix(start)] = value
        return {f"{source.prefix}{key}": value for key, value in found.items()}

    def _folder(self, kind: str, name: str) -> Path | None:
        root = self._root(kind)
        return None if root is None else root / name

    def _root(self, kind: str) -> Path | None:
        root = self._environ.get(f"COULER_{kind}S_DIR")
        return Path(root) if root else None

    def _prefixes(self, kind: str) -> set[str]:
        """Return how the variables of all secrets, or config maps, that are known begin."""
        root = self._root(kind)
        names = {name for one, name in self._named if one == kind}
        if kind == _SECRET:
            names.update(self._given)
        if root is not None and root.is_dir():
            names.update(folder.name for folder in root.iterdir())
        return {_prefix(kind, name) for name in names}

    @cached_property
    def _named(self) -> frozenset[tuple[str, str]]:
        """The secrets and config maps that the workflow names, by their kinds."""
        if self._workflow is None:
            return frozenset()
        whole = ((_SECRET, one.secret) for one in _whole(self._workflow))
        maps = ((_CONFIG, one.config_map) for one in _whole(self._workflow))
        return frozenset(
            (kind, name)
            for kind, name in (*whole, *maps, *map(_place, _named_entries(self._workflow)))
            if name is not None
        )


def variable_name(key: SecretKey | ConfigKey) -> str:
    """Return the environment variable that holds an entry."""
    return f"{_prefix(*_place(key))}{_plain(key.key)}"


def require_entries(workflow: Workflow, entries: Entries) -> None:
    """Refuse to start a workflow whose entries are not there, but for those of skipped steps."""
    needed = set(_entries_of_steps(workflow, skippable(workflow)))
    not_needed = set(_entries_of_steps(workflow)) - needed
    missing = [
        missing_entry(key)
        for key in dict.fromkeys(_named_entries(workflow))
        if key not in not_needed and not key.optional and entries.find(key) is None
    ]
    if missing:
        raise ConfigurationError("\n".join(missing))


def secret_values(workflow: Workflow, entries: Entries) -> list[str]:
    """Return the values of all secrets that a workflow names, to be masked in logs."""
    values = [entries.find(key) for key in _named_entries(workflow) if isinstance(key, SecretKey)]
    for source in _whole(workflow):
        if source.secret is not None:
            values.extend(entries.all_of(source).values())
    return [value for value in values if value]


_SOURCES: Traversal[EnvFrom] = Traversal(EnvFrom)


def _whole(workflow: Workflow) -> Iterator[EnvFrom]:
    """Yield the secrets and config maps of which steps get all entries."""
    for step in all_steps(workflow):
        yield from (source for _, source in _SOURCES.visit(step))


def _named_entries(workflow: Workflow) -> Iterator[SecretKey | ConfigKey]:
    yield from workflow.secrets
    for lock in workflow.locks:
        yield from (key for _, key in ENTRIES.visit(lock))
    yield from _entries_of_steps(workflow)


def _entries_of_steps(
    workflow: Workflow, left_out: frozenset[str] = frozenset()
) -> Iterator[SecretKey | ConfigKey]:
    for path, step in steps_by_path(workflow):
        if path not in left_out:
            yield from (key for _, key in ENTRIES.visit(step))


def _place(key: SecretKey | ConfigKey) -> tuple[str, str]:
    return (_SECRET, key.secret) if isinstance(key, SecretKey) else (_CONFIG, key.config_map)


def _prefix(kind: str, name: str) -> str:
    return f"COULER_{kind}_{_plain(name)}_"


def _plain(name: str) -> str:
    return re.sub(r"[^A-Za-z0-9]", "_", name)


def missing_entry(key: SecretKey | ConfigKey) -> str:
    """Return the message for an entry that is not there."""
    kind, name = _place(key)
    what = "secret" if kind == _SECRET else "config map"
    return (
        f'the {what} "{name}" has no "{key.key}" here. Set {variable_name(key)}, or put a file '
        f"{name}/{key.key} in the folder that COULER_{kind}S_DIR names"
    )


def _read(path: Path) -> str | None:
    try:
        return path.read_text(encoding="utf-8")
    except (FileNotFoundError, NotADirectoryError, IsADirectoryError):
        return None
    except UnicodeDecodeError as error:
        raise ConfigurationError(f"{path} is no UTF-8 text") from error
