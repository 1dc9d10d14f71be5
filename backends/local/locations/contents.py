"""What is in a folder once its links are followed, for places that know no links."""

from __future__ import annotations

import os
import stat
import typing as t
from collections.abc import Iterator
from pathlib import Path

from couler.errors import ArtifactError


class Content(t.NamedTuple):
    """A file, or a folder that has nothing in it."""

    name: str
    """Below the folder that was asked for, with `/`; empty for that folder itself."""
    file: Path | None
    """None for a folder."""


def contents_of(folder: Path, root: Path) -> Iterator[Content]:
    """Yield the files of a folder and of all below it, and its empty folders, in order.

    Parameters
    ----------
    folder
        Where to look.
    root
        The links may lead anywhere in it, and nowhere else: what is followed here can be
        another file than in the container that made the link.

    Raises
    ------
    ArtifactError
        A link leads out of the root, nowhere, or to a folder that it lies in; or something is
        neither a file nor a folder.
    OSError
        A folder cannot be read.
    """
    allowed = Path(os.path.realpath(root))
    yield from _inside(Path(os.path.realpath(folder)), "", allowed, ())


def _inside(
    folder: Path, prefix: str, allowed: Path, around: tuple[Path, ...]
) -> Iterator[Content]:
    if folder in around:
        raise ArtifactError(f"{prefix!r} is a link to a folder that it lies in")
    with os.scandir(folder) as scan:
        entries = sorted(scan, key=lambda entry: entry.name)
    if not entries:
        yield Content(prefix, None)
    for entry in entries:
        name = f"{prefix}/{entry.name}" if prefix else entry.name
        path = _followed(entry, name, allowed)
        mode = path.stat().st_mode
        if stat.S_ISDIR(mode):
            yield from _inside(path, name, allowed, (*around, folder))
        elif stat.S_ISREG(mode):
            yield Content(name, path)
        else:
            raise ArtifactError(f"{name!r} is neither a file nor a folder")


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
