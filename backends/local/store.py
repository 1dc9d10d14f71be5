"""The artifact store of a run: a folder of files and directories by location.

A location is the path of the step's instance and the name of its output, such as
`train[2]/model`, relative to the store. Only locations travel between steps.
"""

from __future__ import annotations

import shutil
from pathlib import Path, PurePosixPath

from couler.errors import EvaluationError


class Store:
    """Keeps what steps give out as files, and puts it where other steps take it in.

    Parameters
    ----------
    root
        The folder of the store; made at the first use.
    """

    def __init__(self, root: Path) -> None:
        self.root = root

    def keep(self, source: Path, location: str) -> None:
        """Copy a file or directory into the store, in place of what was there."""
        kept = self.path(location)
        remove(kept)
        copy(source, kept)

    def fetch(self, location: str, target: Path) -> None:
        """Copy what lies at a location to a path, so that the reader may change its copy.

        Raises
        ------
        EvaluationError
            The location is none, or nothing lies there.
        """
        kept = self.path(location)
        if not kept.exists():
            raise EvaluationError(f"nothing is stored at {location!r}")
        copy(kept, target)

    def path(self, location: str) -> Path:
        """Return the path of a location.

        Raises
        ------
        EvaluationError
            The text is no location in the store.
        """
        parts = PurePosixPath(location)
        if not parts.parts or parts.is_absolute() or ".." in parts.parts or "\0" in location:
            raise EvaluationError(f"{location[:200]!r} is no location in the artifact store")
        return self.root / parts


def copy(source: Path, target: Path) -> None:
    """Copy a file or directory with its modes; links inside a directory stay links."""
    target.parent.mkdir(parents=True, exist_ok=True)
    if source.is_dir():
        shutil.copytree(source, target, symlinks=True)
    else:
        shutil.copy2(source, target)


def remove(path: Path) -> None:
    """Remove a file or directory if there is one."""
    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path)
    else:
        path.unlink(missing_ok=True)
