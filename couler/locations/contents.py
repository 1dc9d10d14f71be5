"""What is in a folder once its links are followed, for places that know no links."""

from __future__ import annotations

import hashlib
import os
import stat
import typing as t
from collections.abc import Iterator
from pathlib import Path

from couler.errors import ArtifactError
from couler.locations.stop import Stop

MAX_THROUGH_LINKS = 100_000
"""Most entries of folders that links lead to: few links can lead to very many."""

_MAX_DEPTH = 500
"""Most folders around another, with those that links lead to."""


class Content(t.NamedTuple):
    """A file, or a folder that has nothing in it."""

    name: str
    """Below the folder that was asked for, with `/`; empty for that folder itself."""
    file: Path | None
    """None for a folder."""


def contents_of(folder: Path, root: Path, stop: Stop) -> Iterator[Content]:
    """Yield the files of a folder and of all below it, and its empty folders, in order."""
    walk = _Walk(Path(os.path.realpath(root)), stop)
    yield from walk.inside(Path(os.path.realpath(folder)), "", (), is_linked=False)


def digest_of(path: Path, stop: Stop) -> str:
    """Return the digest of a file, or of the names and contents of all files in a folder."""
    if not path.is_dir():
        with path.open("rb") as file:
            return hashlib.file_digest(file, "sha256").hexdigest()
    whole = hashlib.sha256()
    for name, inside in contents_of(path, path, stop):
        if inside is not None:
            whole.update(f"{digest_of(inside, stop)} {name}\0".encode(errors="surrogateescape"))
    return whole.hexdigest()


class _Walk:
    """Goes through folders, and counts what it reaches through links."""

    def __init__(self, allowed: Path, stop: Stop) -> None:
        self._allowed = allowed
        self._stop = stop
        self._through_links = 0

    def inside(
        self, folder: Path, prefix: str, around: tuple[Path, ...], *, is_linked: bool
    ) -> Iterator[Content]:
        if folder in around:
            raise ArtifactError(f"{prefix!r} is a link to a folder that it lies in")
        if len(around) > _MAX_DEPTH:
            raise ArtifactError(f"{prefix:.60} ... has more than {_MAX_DEPTH} folders around it")
        with os.scandir(folder) as scan:
            entries = sorted(scan, key=lambda entry: entry.name)
        if not entries:
            yield Content(prefix, None)
        for entry in entries:
            self._stop.check()
            name = f"{prefix}/{entry.name}" if prefix else entry.name
            if is_linked:
                self._count(name)
            path = _followed(entry, name, self._allowed)
            mode = path.stat().st_mode
            if stat.S_ISDIR(mode):
                through = is_linked or entry.is_symlink()
                yield from self.inside(path, name, (*around, folder), is_linked=through)
            elif stat.S_ISREG(mode):
                yield Content(name, path)
            else:
                raise ArtifactError(f"{name!r} is neither a file nor a folder")

    def _count(self, name: str) -> None:
        self._through_links += 1
        if self._through_links > MAX_THROUGH_LINKS:
            raise ArtifactError(
                f"{name:.60}: more than {MAX_THROUGH_LINKS:,} files and folders lie in folders "
                "that links lead to. Put a tar archive, which keeps links, or remove links"
            )


def _followed(entry: os.DirEntry[str], name: str, allowed: Path) -> Path:
    if not entry.is_symlink():
        return Path(entry.path)
    real = Path(os.path.realpath(entry.path))
    if not real.is_relative_to(allowed):
        raise ArtifactError(
            f"{name!r} is a link that leads out of the folders of the step. Copy what it leads to"
        )
    if not real.exists():
        raise ArtifactError(f"{name!r} is a link that leads nowhere")
    return real
