"""Where a run on this machine finds the secrets and config maps that a workflow names.

The entry `password` of the secret `db` is the environment variable `COULER_SECRET_db_password`,
with every character that is no ASCII letter or digit as an underscore, or else the content of the
file `db/password` in the folder that `COULER_SECRETS_DIR` names, which is how a cluster mounts a
secret. Config maps have `COULER_CONFIG_` and `COULER_CONFIGS_DIR`.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path

from couler.errors import ConfigurationError
from couler.ir.artifacts import location_references
from couler.ir.locks import Lock, Semaphore
from couler.ir.storage import ConfigKey, EnvFrom, EnvVar, SecretKey
from couler.ir.walk import all_steps, locations, pod_containers
from couler.ir.workflow import Http, Workflow

_SECRET = "SECRET"
_CONFIG = "CONFIG"


class Entries:
    """The entries of secrets and config maps.

    Parameters
    ----------
    environ
        The environment in which the run was started.
    """

    def __init__(self, environ: Mapping[str, str]) -> None:
        self._environ = environ

    def find(self, key: SecretKey | ConfigKey) -> str | None:
        """Return the value of an entry, None if there is none."""
        kind, name = _place(key)
        value = self._environ.get(variable_name(key))
        if value is not None:
            return value
        folder = self._folder(kind, name)
        return None if folder is None else _read(folder / key.key)

    def require(self, key: SecretKey | ConfigKey) -> str | None:
        """Return the value of an entry; None if there is none and it is optional.

        Raises
        ------
        ConfigurationError
            The entry is missing.
        """
        value = self.find(key)
        if value is None and not key.optional:
            raise ConfigurationError(_missing(key))
        return value

    def all_of(self, source: EnvFrom) -> dict[str, str]:
        """Return all entries of a secret or config map, by key with the prefix."""
        kind, name = (
            (_SECRET, source.secret) if source.secret is not None else (_CONFIG, source.config_map)
        )
        if name is None:
            return {}
        found: dict[str, str] = {}
        folder = self._folder(kind, name)
        if folder is not None and folder.is_dir():
            for path in sorted(folder.iterdir()):
                value = _read(path)
                if value is not None:
                    found[path.name] = value
        start = f"COULER_{kind}_{_plain(name)}_"
        for variable, value in self._environ.items():
            if variable.startswith(start):
                found[variable.removeprefix(start)] = value
        return {f"{source.prefix}{key}": value for key, value in found.items()}

    def _folder(self, kind: str, name: str) -> Path | None:
        root = self._environ.get(f"COULER_{kind}S_DIR")
        return Path(root, name) if root else None


def variable_name(key: SecretKey | ConfigKey) -> str:
    """Return the environment variable that holds an entry.

    Examples
    --------
    >>> variable_name(SecretKey(secret="my-db", key="password"))
    'COULER_SECRET_my_db_password'
    """
    kind, name = _place(key)
    return f"COULER_{kind}_{_plain(name)}_{_plain(key.key)}"


def require_entries(workflow: Workflow, entries: Entries) -> None:
    """Refuse to start a workflow that names entries which are not there.

    Raises
    ------
    ConfigurationError
        Entries are missing; the message names all of them.
    """
    missing = [
        _missing(key)
        for key in dict.fromkeys(_named_entries(workflow))
        if not key.optional and entries.find(key) is None
    ]
    if missing:
        raise ConfigurationError("\n".join(missing))


def secret_values(workflow: Workflow, entries: Entries) -> list[str]:
    """Return the values of all secrets that a workflow names, to be masked in logs."""
    values = [entries.find(key) for key in _named_entries(workflow) if isinstance(key, SecretKey)]
    for step in all_steps(workflow):
        for source in (*step.env_from, *(e for c in pod_containers(step) for e in c.env_from)):
            if source.secret is not None:
                values.extend(entries.all_of(source).values())
    return [value for value in values if value]


def _named_entries(workflow: Workflow) -> Iterator[SecretKey | ConfigKey]:
    yield from workflow.secrets
    yield from _sizes(workflow.locks)
    for step in all_steps(workflow):
        yield from _sizes(step.locks)
        variables: tuple[EnvVar, ...] = step.env
        if isinstance(step.action, Http):
            variables += step.action.headers
        for container in pod_containers(step):
            variables += container.env
        for variable in variables:
            if variable.secret is not None:
                yield variable.secret
            if variable.config is not None:
                yield variable.config
        for location in locations(step):
            yield from location_references(location)


def _sizes(locks: Iterable[Lock]) -> Iterator[ConfigKey]:
    return (lock.limit for lock in locks if isinstance(lock, Semaphore))


def _place(key: SecretKey | ConfigKey) -> tuple[str, str]:
    return (_SECRET, key.secret) if isinstance(key, SecretKey) else (_CONFIG, key.config_map)


def _plain(name: str) -> str:
    return re.sub(r"[^A-Za-z0-9]", "_", name)


def _missing(key: SecretKey | ConfigKey) -> str:
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
