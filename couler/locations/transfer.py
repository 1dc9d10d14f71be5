"""Files on their way between this machine and the locations of a workflow."""

from __future__ import annotations

import contextlib
import shutil
import tempfile
import typing as t
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from couler.errors import ArtifactError, ConfigurationError
from couler.ir.artifacts import (
    Archive,
    ArtifactoryLocation,
    GitLocation,
    HttpLocation,
    Location,
    PluginLocation,
    RawLocation,
    fitting,
    is_in_repository,
    repository_key,
)
from couler.ir.verify.credentials import credentials_in_address
from couler.ir.verify.locations import address_problems
from couler.locations.buckets import in_repository, open_bucket
from couler.locations.git import GitTree, RunCommand
from couler.locations.secrets import Entries
from couler.locations.stop import Stop
from couler.locations.trees import Tree
from couler.locations.web import Url

OUTSIDE_ERRORS = (ArtifactError, ConfigurationError, OSError)
"""What fetching a file from outside, or putting one there, can raise."""


class _Remote(t.Protocol):
    def fetch(self, target: Path) -> object: ...

    def put(self, source: Path, root: Path, stop: Stop) -> None: ...


@dataclass(frozen=True, slots=True)
class Transfer:
    """Fetches files from locations and puts files there; all of it may take long."""

    repository: str
    entries: Entries
    scratch: Path
    environ: Mapping[str, str]
    run_command: RunCommand

    def fetch(
        self, location: Location, target: Path, archive: Archive | None, stop: Stop
    ) -> str | None:
        """Bring what is at a location to a path that is free."""
        if archive is None:
            return self._fetch(location, target, stop)
        with self.folder() as folder:
            packed = folder / target.name
            version = self._fetch(location, packed, stop)
            _unpack(packed, target, archive)
        return version

    def put(
        self, source: Path, root: Path, location: Location, archive: Archive | None, stop: Stop
    ) -> None:
        """Put a file or a directory at a location."""
        with self.folder() as folder:
            if archive is not None:
                packed = folder / "packed"
                _pack(source, root, packed, archive, stop)
                source, root = packed, folder
            with self._open(location) as remote:
                remote.put(source, root, stop)

    def names(self, location: Location, pattern: str | None) -> tuple[str, ...]:
        """Return the keys of the files below a location whose texts are known, in order."""
        with self._open(location) as remote:
            if not isinstance(remote, Tree):
                raise ArtifactError(f"files at a {location.kind} location cannot be listed")
            try:
                below = remote.names()
            except FileNotFoundError as error:
                raise ArtifactError(str(error)) from error
        start = str(repository_key(location)).rstrip("/")
        return tuple(sorted(f"{start}/{name}" for name in fitting(below, pattern)))

    @contextlib.contextmanager
    def folder(self) -> Iterator[Path]:
        """Have a folder that goes with the block."""
        self.scratch.mkdir(mode=0o700, parents=True, exist_ok=True)
        folder = Path(tempfile.mkdtemp(dir=self.scratch))
        try:
            yield folder
        finally:
            shutil.rmtree(folder, ignore_errors=True)

    def _fetch(self, location: Location, target: Path, stop: Stop) -> str | None:
        if isinstance(location, RawLocation):
            target.write_bytes(str(location.content).encode())
            return None
        if isinstance(location, GitLocation):  # the files of Git itself differ from clone to clone
            with self.folder() as private:
                tree = GitTree(
                    location, self.entries, self.environ, private, stop, self.run_command
                )
                return f"git/{tree.fetch(target)}"
        with self._open(location) as remote:
            remote.fetch(target)
        return None

    @contextlib.contextmanager
    def _open(self, location: Location) -> Iterator[_Remote]:
        if is_in_repository(location):
            yield in_repository(self.repository, str(repository_key(location)))
        elif isinstance(location, HttpLocation | ArtifactoryLocation):
            with self.folder() as private:
                yield Url(location, self.entries, private)
        elif isinstance(location, GitLocation | RawLocation | PluginLocation):
            raise ArtifactError(f"nothing can be put at a {location.kind} location here")
        else:
            with self.folder() as private:
                yield open_bucket(location, self.entries, private)


def text_problems(location: Location) -> Iterator[str]:
    """Yield what is wrong with the texts of a location, once all of them are known."""
    yield from address_problems(location)
    yield from credentials_in_address(location)


def name_of(location: Location) -> str:
    """Return a name for what is at a location: the last part of its address."""
    for field in ("key", "path", "blob", "url", "repository"):
        text = getattr(location, field, None)
        if isinstance(text, str):
            name = text.partition("?")[0].rstrip("/").rpartition("/")[2]
            name = name.removesuffix(".git") if field == "repository" else name
            if name not in ("", ".", ".."):
                return name[-100:]
    return "content"


def require_type(path: Path, wanted: str, what: str) -> None:
    """Refuse a file that was declared a directory, or the other way round."""
    if path.is_dir() != (wanted == "directory"):
        found = "directory" if path.is_dir() else "file"
        raise ArtifactError(f"{what} is declared {wanted}, but its location has a {found}")


def _unpack(packed: Path, target: Path, archive: Archive) -> None:
    from couler.locations.packing import unpack

    unpack(packed, target, archive)


def _pack(source: Path, root: Path, target: Path, archive: Archive, stop: Stop) -> None:
    from couler.locations.packing import pack

    pack(source, root, target, archive, stop)
