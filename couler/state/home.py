"""Where runs are kept on this machine."""

from __future__ import annotations

import sys
import typing as t
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import quote

from couler.errors import ConfigurationError


@dataclass(frozen=True, slots=True)
class Home:
    """The folder of Couler's own files: the database, the store of artifacts, folders of runs."""

    root: Path
    database: str | None = None
    store: str | None = None
    repository: str | None = None

    @classmethod
    def find(cls, environ: Mapping[str, str], *, platform: str = sys.platform) -> t.Self:
        """Find the folder that an environment names, or the usual one of the user."""
        return cls(
            root=_find_root(environ, platform),
            database=environ.get("COULER_DATABASE_URL") or None,
            store=environ.get("COULER_STORE_URL") or None,
            repository=environ.get("COULER_REPOSITORY_URL") or None,
        )

    @property
    def database_url(self) -> str:
        """URL of the metadata database, as `open_database` reads it."""
        if self.database is not None:
            return self.database
        path = str(self.root / "couler.db")
        for character in "%?":  # they mean something in a URL
            path = path.replace(character, quote(character))
        return f"sqlite:///{path}"

    @property
    def store_url(self) -> str:
        """URL of the store of artifacts, as fsspec reads it."""
        return f"file://{self.root / 'store'}" if self.store is None else self.store

    @property
    def repository_url(self) -> str:
        """URL of the repository of files that programs name by their keys, as fsspec reads it."""
        return f"file://{self.root / 'repository'}" if self.repository is None else self.repository

    @property
    def runs(self) -> Path:
        """The folder of the folders of runs."""
        return self.root / "runs"

    def run_folder(self, run_id: str) -> Path:
        """Return the folder of a run, which need not exist."""
        if run_id in ("", ".", "..") or set(run_id) & {"/", "\0"}:
            raise ValueError(f"{run_id!r} is no name of a run")
        return self.runs / run_id


def _find_root(environ: Mapping[str, str], platform: str) -> Path:
    chosen = environ.get("COULER_HOME")
    if chosen:
        return _expand(chosen, environ).absolute()
    data = environ.get("XDG_DATA_HOME")
    if data and Path(data).is_absolute():  # its specification: others are to be ignored
        return Path(data) / "couler"
    home = _user_home(environ)
    if platform == "darwin":
        return home / "Library" / "Application Support" / "couler"
    return home / ".local" / "share" / "couler"


def _expand(path: str, environ: Mapping[str, str]) -> Path:
    """Replace a leading ``~``, which no shell has done where a settings file set the variable."""
    if path == "~" or path.startswith("~/"):
        return _user_home(environ) / path[2:]
    return Path(path)


def _user_home(environ: Mapping[str, str]) -> Path:
    home = environ.get("HOME")
    if home:
        return Path(home).absolute()
    try:
        return Path.home()
    except RuntimeError as error:
        raise ConfigurationError(
            "this user has no home folder: set COULER_HOME to the folder in which runs are kept"
        ) from error
