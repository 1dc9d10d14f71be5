"""Objects in a folder of this machine."""

from __future__ import annotations

import contextlib
import fcntl
import hashlib
import os
import secrets
import sys
import typing as t
from collections.abc import Iterator
from pathlib import Path

from couler.errors import StoreError
from couler.store.places import BLOCK_BYTES, Object, altered, digest_of, missing, parts_of

_FICLONE = 0x40049409
"""Linux: share the blocks of another file until one of the two is written to."""

_READ = os.O_RDONLY | os.O_CLOEXEC
_NEW = os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC


class LocalPlace:
    """Objects as read-only files below a folder, which is made at the first write."""

    def __init__(self, root: Path, *, sets_aside: bool = True) -> None:
        self._root = root
        self._sets_aside = sets_aside
        self._objects = f"{root}/objects"

    @property
    def lag_s(self) -> float:
        """How far the clocks of files and of programs may be apart."""
        return 2.0

    def add(self, source: int) -> tuple[str, int]:
        """Store the rest of an open file; return its digest and size."""
        with self._new_file() as (temporary, target):
            digest, size = _transfer(source, target)
            self._commit(temporary, target, digest)
        return digest, size

    def add_bytes(self, content: bytes) -> str:
        """Store a content that is in memory; return its digest."""
        digest = hashlib.sha256(content).hexdigest()
        with self._new_file() as (temporary, target):
            _write(target, memoryview(content))
            self._commit(temporary, target, digest)
        return digest

    def read(self, digest: str) -> bytes:
        """Return the content of an object."""
        with self._open(digest) as source:
            chunks = []
            while chunk := os.read(source, BLOCK_BYTES):
                chunks.append(chunk)
            content = b"".join(chunks)
            self._compare(digest, hashlib.sha256(content).hexdigest(), source)
        return content

    def copy(self, digest: str, target: Path, mode: int) -> None:
        """Copy an object to a new file with a mode less the umask."""
        with self._open(digest) as source:
            copied = os.open(target, _NEW, mode)
            try:
                found, _ = _transfer(source, copied)
                self._compare(digest, found, source)
            except BaseException:
                os.unlink(target)
                raise
            finally:
                os.close(copied)

    def check(self, digest: str) -> None:
        """Read an object and compare its content with the digest."""
        with self._open(digest) as source:
            self._compare(digest, _hash(source)[0], source)

    def size(self, digest: str) -> int | None:
        """Return the size in bytes, None where there is no such object."""
        try:
            return os.stat(self._path(digest)).st_size
        except FileNotFoundError:
            return None

    def touch(self, digest: str) -> bool:
        """Make an object young; return whether it is there."""
        try:
            with self._locked(fcntl.LOCK_SH):
                os.utime(self._path(digest))
        except FileNotFoundError:
            return False
        return True

    def delete(self, digest: str, before: float | None) -> bool:
        """Delete an object that was last touched before a time; return whether it did."""
        path = self._path(digest)
        try:
            with self._deleting(), self._locked(fcntl.LOCK_EX):
                if before is not None and os.stat(path).st_mtime >= before:
                    return False
                os.unlink(path)
        except FileNotFoundError:
            return False
        return True

    def objects(self) -> Iterator[Object]:
        """Yield all objects, in no order."""
        for folder in _entries(self._objects):
            for entry in _entries(folder.path):
                digest = digest_of(folder.name, entry.name)
                if digest is None:
                    continue
                with contextlib.suppress(FileNotFoundError):  # deleted meanwhile
                    facts = entry.stat()
                    yield Object(digest, facts.st_size, facts.st_mtime)

    def sweep(self, before: float) -> int:
        """Delete what interrupted writers left before a time; return how many files."""
        count = 0
        for entry in _entries(f"{self._root}/tmp"):
            with self._deleting(), contextlib.suppress(FileNotFoundError):
                if entry.stat(follow_symlinks=False).st_mtime < before:
                    os.unlink(entry.path)
                    count += 1
        return count

    def url_of(self, digest: str) -> str:
        """Return the address of an object."""
        return f"file://{self._path(digest)}"

    def path_of(self, digest: str) -> Path | None:
        """Return the path of an object on this machine."""
        return Path(self._path(digest))

    def _path(self, digest: str) -> str:
        folder, name = parts_of(digest)
        return f"{self._objects}/{folder}/{name}"

    @contextlib.contextmanager
    def _open(self, digest: str) -> Iterator[int]:
        try:
            source = os.open(self._path(digest), _READ)
        except FileNotFoundError:
            raise missing(digest, self.url_of(digest)) from None
        try:
            yield source
        finally:
            os.close(source)

    def _compare(self, digest: str, found: str, source: int) -> None:
        """Raise if an object that was read has another digest, and set it aside."""
        if found == digest:
            return
        if self._sets_aside:
            path = self._path(digest)
            # A store that cannot be written to keeps it.
            with contextlib.suppress(OSError), self._locked(fcntl.LOCK_EX):
                # Another process may have put a whole one in its place.
                if os.path.samestat(os.stat(path), os.fstat(source)):
                    os.replace(path, f"{self._root}/tmp/altered-{digest}")
        raise altered(digest, self.url_of(digest))

    @contextlib.contextmanager
    def _new_file(self) -> Iterator[tuple[str, int]]:
        """A new file in `tmp`, which is gone afterwards unless it was renamed."""
        path = f"{self._root}/tmp/{os.getpid()}-{secrets.token_hex(8)}"
        target = _make(lambda: os.open(path, _NEW, 0o600), path)
        try:
            yield path, target
        finally:
            os.close(target)
            with contextlib.suppress(FileNotFoundError):
                os.unlink(path)

    def _commit(self, temporary: str, target: int, digest: str) -> None:
        """Give a file that is written its place."""
        os.fchmod(target, 0o444)
        os.fsync(target)
        path = self._path(digest)
        with self._locked(fcntl.LOCK_SH):
            # A clone has the time of its content; its age as an object begins here.
            os.utime(target)
            _make(lambda: os.replace(temporary, path), path)

    @contextlib.contextmanager
    def _deleting(self) -> Iterator[None]:
        """Say of which store it is that something cannot be deleted."""
        try:
            yield
        except FileNotFoundError:
            raise
        except OSError as error:
            raise StoreError(
                f"the artifact store {self._root}: nothing can be deleted: {error}. Let the user "
                "who deletes write to it and to all folders in it"
            ) from error

    @contextlib.contextmanager
    def _locked(self, how: int) -> Iterator[None]:
        lock = os.open(f"{self._root}/lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o666)
        try:
            fcntl.flock(lock, how)
            yield
        finally:
            os.close(lock)


T = t.TypeVar("T")


def _make(action: t.Callable[[], T], path: str) -> T:
    """Do what makes a file, and its folder only where it has none."""
    try:
        return action()
    except FileNotFoundError:
        os.makedirs(os.path.dirname(path), exist_ok=True)
        return action()


def _entries(folder: str) -> list[os.DirEntry[str]]:
    try:
        with os.scandir(folder) as entries:
            return list(entries)
    except (FileNotFoundError, NotADirectoryError):
        return []


def _transfer(source: int, target: int) -> tuple[str, int]:
    """Copy the rest of a file into a new one; return digest and size of what was copied."""
    if _clone(source, target):
        # The clone is read, and not the source, which somebody may still write to.
        return _hash(target)
    digest = hashlib.sha256()
    size = 0
    for chunk in _blocks(source):
        digest.update(chunk)
        _write(target, chunk)
        size += len(chunk)
    return digest.hexdigest(), size


def _clone(source: int, target: int) -> bool:
    """Share the blocks of a large file where the filesystem can; return whether it could."""
    if sys.platform != "linux" or os.fstat(source).st_size < BLOCK_BYTES:
        return False
    try:
        fcntl.ioctl(target, _FICLONE, source)
    except OSError:
        return False
    return True


def _hash(source: int) -> tuple[str, int]:
    digest = hashlib.sha256()
    size = 0
    for chunk in _blocks(source):
        digest.update(chunk)
        size += len(chunk)
    return digest.hexdigest(), size


def _blocks(source: int) -> Iterator[memoryview]:
    """Yield the rest of a file, each block in the memory of the one before."""
    left = os.fstat(source).st_size - os.lseek(source, 0, os.SEEK_CUR)
    memory = memoryview(bytearray(max(1, min(left + 1, BLOCK_BYTES))))
    while count := os.readv(source, [memory]):
        yield memory[:count]


def _write(target: int, content: memoryview) -> None:
    while content:
        content = content[os.write(target, content) :]
