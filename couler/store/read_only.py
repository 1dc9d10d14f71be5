"""A place whose objects are read and never changed, to tell what others would find there."""

from __future__ import annotations

import contextlib
import hashlib
import os
from collections.abc import Iterator
from pathlib import Path

from couler.errors import LostArtifactError
from couler.store.places import Object, Place, missing


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
