"""Files and directories in a store, by the references that travel between steps."""

from __future__ import annotations

import contextlib
import hashlib
import os
import shutil
import stat
import typing as t
from collections.abc import Iterator
from functools import cached_property
from pathlib import Path

from couler.errors import ArtifactError, LostArtifactError
from couler.store.local import LocalPlace
from couler.store.manifest import Empty, Entry, File, Link, read_manifest, write_manifest
from couler.store.places import Object, Place, missing
from couler.store.reference import Reference, parse_reference

__all__ = ["Object", "ObjectStore"]

_FILE_MODE = 0o666
_EXECUTABLE_MODE = 0o777


class ObjectStore:
    """A content-addressed store of files and directories."""

    def __init__(self, url: str, *, read_only: bool = False, **options: object) -> None:
        self.url = url
        self.read_only = read_only
        self._options = options

    @property
    def lag_s(self) -> float:
        """How much older than its last writer an object may look, in seconds."""
        return self._place.lag_s

    def put(self, path: Path, *, root: Path | None = None) -> str:
        """Store a file or a directory and return its reference."""
        real = os.path.realpath(path)
        allowed = os.path.realpath(path.parent if root is None else root)
        if os.path.commonpath((real, allowed)) != allowed:
            raise ArtifactError(f"{str(path)!r} is a link that leads out of {allowed!r}")
        name = path.name
        if name in ("", ".."):
            raise ArtifactError(f"{str(path)!r} has no name of its own")
        if os.path.isdir(real):
            manifest = write_manifest(self._put_entries(real))
            return str(Reference(self._place.add_bytes(manifest), name, "directory"))
        digest, _, is_executable = self._put_file(real)
        return str(Reference(digest, name, "executable" if is_executable else "file"))

    def fetch(self, text: str, target: Path) -> None:
        """Copy what a reference stands for to a path, checking it against its digest."""
        reference = parse_reference(text)
        target.parent.mkdir(parents=True, exist_ok=True)
        if reference.kind != "directory":
            self._fetch_file(reference.digest, target, reference.kind == "executable")
            return
        entries = self._entries(reference)
        is_new = not os.path.lexists(target)
        try:
            self._fetch_entries(entries, target)
        except BaseException:
            if is_new:
                shutil.rmtree(target, ignore_errors=True)
            raise

    def verify(self, text: str) -> None:
        """Read everything that a reference stands for and compare it with its digests."""
        for digest in self.digests(text):
            self._place.check(digest)

    def touch(self, text: str) -> None:
        """Make what a reference stands for young: garbage is collected by age."""
        for digest in self.digests(text):
            if not self._place.touch(digest):
                self._place.check(digest)  # raises what says where it should be

    def exists(self, text: str) -> bool:
        """Return whether everything that a reference stands for is there, without reading it."""
        reference = parse_reference(text)
        if self._place.size(reference.digest) is None:
            return False
        if reference.kind != "directory":
            return True
        return all(
            self._place.size(entry.digest) == entry.size
            for entry in _files(self._entries(reference))
        )

    def size(self, text: str) -> int:
        """Return how many bytes a file has, or all files of a directory together."""
        reference = parse_reference(text)
        if reference.kind == "directory":
            return sum(entry.size for entry in _files(self._entries(reference)))
        size = self._place.size(reference.digest)
        if size is None:
            self._place.check(reference.digest)  # raises what says where it should be
        return size or 0

    def digests(self, text: str) -> tuple[str, ...]:
        """Return the digests of all objects that a reference stands for, each once."""
        reference = parse_reference(text)
        if reference.kind != "directory":
            return (reference.digest,)
        inside = (entry.digest for entry in _files(self._entries(reference)))
        return tuple(dict.fromkeys((reference.digest, *inside)))

    def size_of(self, digest: str) -> int | None:
        """Return what an object takes in bytes, None if it is not there."""
        return self._place.size(digest)

    def objects(self) -> Iterator[Object]:
        """Yield all objects of the store, in no order."""
        return self._place.objects()

    def delete(self, digest: str, *, before: float | None = None) -> bool:
        """Delete an object."""
        return self._place.delete(digest, before)

    def sweep(self, before: float) -> int:
        """Delete the temporary files of writers that were interrupted before a time."""
        return self._place.sweep(before)

    def url_of(self, text: str) -> str:
        """Return the address of the object that a reference names."""
        return self._place.url_of(parse_reference(text).digest)

    def local_path(self, text: str) -> Path | None:
        """Return the path of a file's object on this machine, to be read only."""
        reference = parse_reference(text)
        if reference.kind == "directory":
            return None
        return self._place.path_of(reference.digest)

    @cached_property
    def _place(self) -> Place:
        place = self._open(sets_aside=not self.read_only)
        return ReadOnlyPlace(place) if self.read_only else place

    def _open(self, *, sets_aside: bool) -> Place:
        protocol, separator, path = self.url.partition("://")
        if not separator or protocol in ("file", "local"):
            root = Path(os.path.abspath(path if separator else self.url))
            return LocalPlace(root, sets_aside=sets_aside)
        from couler.store.remote import RemotePlace

        return RemotePlace(self.url, self._options, sets_aside=sets_aside)

    def _put_file(self, path: str) -> tuple[str, int, bool]:
        # Opening a fifo would wait for somebody to write to it.
        flags = os.O_RDONLY | os.O_NONBLOCK | os.O_NOFOLLOW | os.O_CLOEXEC
        if not stat.S_ISREG(os.lstat(path).st_mode):  # a socket cannot be opened at all
            raise _refuse(path)
        source = os.open(path, flags)
        try:
            mode = os.fstat(source).st_mode
            if not stat.S_ISREG(mode):
                raise _refuse(path)
            digest, size = self._place.add(source)
        finally:
            os.close(source)
        return digest, size, bool(mode & stat.S_IXUSR)

    def _put_entries(self, root: str) -> Iterator[Entry]:
        folders = [""]
        while folders:
            folder = folders.pop()
            with os.scandir(os.path.join(root, folder)) as scan:
                found = list(scan)
            if not found and folder:
                yield Empty(folder)
            for entry in found:
                inner = f"{folder}/{entry.name}" if folder else entry.name
                if entry.is_symlink():
                    yield Link(inner, os.readlink(entry.path))
                elif entry.is_dir():
                    folders.append(inner)
                else:
                    yield File(inner, *self._put_file(entry.path))

    def _entries(self, reference: Reference) -> tuple[Entry, ...]:
        return read_manifest(self._place.read(reference.digest))

    def _fetch_entries(self, entries: tuple[Entry, ...], target: Path) -> None:
        os.makedirs(target, exist_ok=True)
        made = {""}
        for entry in entries:
            folder = entry.path if isinstance(entry, Empty) else entry.path.rpartition("/")[0]
            if folder not in made:
                os.makedirs(target / folder, exist_ok=True)
                made.add(folder)
            if isinstance(entry, File):
                self._fetch_file(entry.digest, target / entry.path, entry.is_executable)
        # Last, so that nothing is written by way of a link.
        for entry in entries:
            if isinstance(entry, Link):
                os.symlink(entry.target, target / entry.path)

    def _fetch_file(self, digest: str, target: Path, is_executable: bool) -> None:
        mode = _EXECUTABLE_MODE if is_executable else _FILE_MODE
        try:
            self._place.copy(digest, target, mode)
        except FileExistsError:
            with contextlib.suppress(FileNotFoundError):
                os.unlink(target)
            self._place.copy(digest, target, mode)


def _files(entries: tuple[Entry, ...]) -> t.Iterator[File]:
    return (entry for entry in entries if isinstance(entry, File))


def _refuse(path: str) -> ArtifactError:
    return ArtifactError(f"{path!r} is neither a file nor a directory, and cannot be stored")


class ReadOnlyPlace:
    """Answers as a place would that is written to, without writing to it."""

    def __init__(self, place: Place) -> None:
        self._place = place
        self._added: dict[str, int] = {}
        """Sizes of the objects that would have been written, by digest."""
        self._contents: dict[str, bytes] = {}
        self._lost: set[str] = set()

    @property
    def lag_s(self) -> float:
        """As of the place."""
        return self._place.lag_s

    def add(self, source: int) -> tuple[str, int]:
        """Return digest and size of the rest of an open file."""
        start = os.lseek(source, 0, os.SEEK_CUR)
        with open(source, "rb", closefd=False) as file:
            digest = hashlib.file_digest(file, "sha256").hexdigest()
            size = file.tell() - start
        self._added[digest] = size
        return digest, size

    def add_bytes(self, content: bytes) -> str:
        """Return the digest of a content that is in memory."""
        digest = hashlib.sha256(content).hexdigest()
        self._added[digest] = len(content)
        self._contents[digest] = content
        return digest

    def read(self, digest: str) -> bytes:
        """Return the content of an object."""
        if digest in self._contents:
            return self._contents[digest]
        with self._looked_at(digest):
            return self._place.read(digest)

    def copy(self, digest: str, target: Path, mode: int) -> None:
        """Copy an object to a new file with a mode less the umask."""
        with self._looked_at(digest):
            self._place.copy(digest, target, mode)

    def check(self, digest: str) -> None:
        """Read an object and compare its content with the digest."""
        if digest in self._added:
            return
        with self._looked_at(digest):
            self._place.check(digest)

    def size(self, digest: str) -> int | None:
        """Return the size in bytes, None where there is no such object."""
        if digest in self._added:
            return self._added[digest]
        return None if digest in self._lost else self._place.size(digest)

    def touch(self, digest: str) -> bool:
        """Return whether an object is there, as old as it is."""
        return self.size(digest) is not None

    def delete(self, digest: str, before: float | None) -> bool:
        """Delete nothing."""
        return False

    def objects(self) -> Iterator[Object]:
        """Yield all objects of the place, in no order."""
        return self._place.objects()

    def sweep(self, before: float) -> int:
        """Delete nothing."""
        return 0

    def url_of(self, digest: str) -> str:
        """Return the address of an object."""
        return self._place.url_of(digest)

    def path_of(self, digest: str) -> Path | None:
        """Return the path of an object on this machine, None where it has none."""
        return self._place.path_of(digest)

    @contextlib.contextmanager
    def _looked_at(self, digest: str) -> Iterator[None]:
        """Read an object of the place; remember that it is lost, if it is."""
        if digest in self._lost:
            raise missing(digest, self.url_of(digest))
        try:
            yield
        except LostArtifactError:
            self._lost.add(digest)
            raise
