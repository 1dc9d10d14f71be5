"""A folder that is shared with a process that is not trusted."""

from __future__ import annotations

import contextlib
import os
import shutil
import stat
from collections.abc import Iterator
from pathlib import Path

from couler.errors import ArtifactError

_READ = os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC | os.O_NONBLOCK  # a pipe holds nobody up
_WRITE = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC

_MAX_DEPTH = 200
"""Most folders inside of each other, each of which is open meanwhile."""


class SharedFolder:
    """A folder that others can write."""

    def __init__(self, path: Path) -> None:
        path.mkdir(parents=True, exist_ok=True)
        self._fd = os.open(path, _READ | os.O_DIRECTORY)
        if os.fstat(self._fd).st_uid == os.getuid():  # else the other process has made it so
            os.fchmod(self._fd, 0o777)

    def close(self) -> None:
        """Look at it no more."""
        os.close(self._fd)

    def names(self, suffix: str) -> list[str]:
        """Return the names in it that end in a suffix, in order."""
        return sorted(name for name in os.listdir(self._fd) if name.endswith(suffix))

    def has(self, name: str) -> bool:
        """Return whether something has a name, be it a link that leads nowhere."""
        try:
            os.stat(name, dir_fd=self._fd, follow_symlinks=False)
        except FileNotFoundError:
            return False
        return True

    def rename(self, name: str, new: str) -> None:
        """Give a file another name."""
        os.rename(name, new, src_dir_fd=self._fd, dst_dir_fd=self._fd)

    def read(self, name: str) -> bytes:
        """Return the content of a file."""
        with _opened(self._fd, name) as found:
            if not stat.S_ISREG(os.fstat(found).st_mode):
                raise ArtifactError(f"{name!r} is no file")
            with open(found, "rb", closefd=False) as file:
                return file.read()

    def write(self, name: str, content: bytes) -> None:
        """Write a file that all can read, in the place of one that is there."""
        with contextlib.suppress(FileNotFoundError):
            os.unlink(name, dir_fd=self._fd)
        with open(os.open(name, _WRITE, 0o644, dir_fd=self._fd), "wb") as file:
            os.fchmod(file.fileno(), 0o644)
            file.write(content)

    def take(self, name: str, target: Path) -> None:
        """Copy a file, or a folder with all that is in it, to a path of one's own."""
        *folders, last = names_to(name)
        with contextlib.ExitStack() as opened:
            fd = self._fd
            for folder in folders:
                fd = opened.enter_context(_opened(fd, folder))
            home = opened.enter_context(_opened_path(target.parent))
            _copy(fd, last, home, target.name)

    def give(self, source: Path, name: str) -> None:
        """Copy a file or a folder of one's own to a name that is free; all can write the copy."""
        if len(names_to(name)) != 1:
            raise ArtifactError(f"{name!r} is no name of a file")
        with _opened_path(source.parent) as home:
            _copy(home, source.name, self._fd, name, for_all=True)


def names_to(name: str) -> list[str]:
    """Return the names of the folders on the way to a file, and its own."""
    parts = name.split("/")
    if not {"", ".", ".."}.isdisjoint(parts):
        raise ArtifactError(f"{name!r} is no name of a file")
    return parts


@contextlib.contextmanager
def _opened(folder: int, name: str) -> Iterator[int]:
    """Have a file or a folder open that is no link."""
    try:
        fd = os.open(name, _READ, dir_fd=folder)
    except OSError as error:
        with contextlib.suppress(OSError):
            if stat.S_ISLNK(os.stat(name, dir_fd=folder, follow_symlinks=False).st_mode):
                raise ArtifactError(f"{name!r} is a link, which is not followed here") from error
        raise
    try:
        yield fd
    finally:
        os.close(fd)


@contextlib.contextmanager
def _opened_path(path: Path) -> Iterator[int]:
    fd = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        yield fd
    finally:
        os.close(fd)


def _copy(
    home: int, name: str, target: int, new: str, *, for_all: bool = False, depth: int = 0
) -> None:
    """Copy what has a name in one folder to a new one in another."""
    with _opened(home, name) as source:
        mode = stat.S_IMODE(os.fstat(source).st_mode)
        if stat.S_ISREG(os.fstat(source).st_mode):
            copy = os.open(new, _WRITE, 0o600, dir_fd=target)
            with open(source, "rb", closefd=False) as file, open(copy, "wb") as written:
                shutil.copyfileobj(file, written)
                os.fchmod(copy, mode | 0o444 if for_all else mode | 0o400)
            return
        if not stat.S_ISDIR(os.fstat(source).st_mode):
            raise ArtifactError(f"{name!r} is neither a file nor a folder")
        if depth > _MAX_DEPTH:
            raise ArtifactError(f"{name:.60!r} has more than {_MAX_DEPTH} folders around it")
        os.mkdir(new, 0o700, dir_fd=target)
        with _opened(target, new) as made:
            for inner in os.listdir(source):
                if stat.S_ISLNK(os.stat(inner, dir_fd=source, follow_symlinks=False).st_mode):
                    os.symlink(os.readlink(inner, dir_fd=source), inner, dir_fd=made)
                else:
                    _copy(source, inner, made, inner, for_all=for_all, depth=depth + 1)
            os.fchmod(made, mode | 0o777 if for_all else mode | 0o700)
