"""What a place that holds objects can do; the store above it knows of files and directories."""

from __future__ import annotations

import typing as t
from collections.abc import Iterator
from pathlib import Path

from couler.errors import LostArtifactError

BLOCK_BYTES = 1024 * 1024
"""How much of a file is in memory at a time."""


class Object(t.NamedTuple):
    """An object as the store lists it."""

    digest: str
    """SHA-256 of its content, hexadecimal."""
    size: int
    """Size in bytes."""
    modified: float
    """When it was last written or touched, in seconds of the Unix epoch."""


class Place(t.Protocol):
    """Holds objects by the digest of their content."""

    @property
    def lag_s(self) -> float:
        """How much older than its last writer an object may look, in seconds."""

    def add(self, source: int) -> tuple[str, int]:
        """Store the rest of an open file; return its digest and size."""

    def add_bytes(self, content: bytes) -> str:
        """Store a content that is in memory; return its digest."""

    def read(self, digest: str) -> bytes:
        """Return the content of an object."""

    def copy(self, digest: str, target: Path, mode: int) -> None:
        """Copy an object to a new file with a mode less the umask."""

    def check(self, digest: str) -> None:
        """Read an object and compare its content with the digest."""

    def size(self, digest: str) -> int | None:
        """Return the size in bytes, None where there is no such object."""

    def touch(self, digest: str) -> bool:
        """Make an object young; return whether it is there."""

    def delete(self, digest: str, before: float | None) -> bool:
        """Delete an object that was last touched before a time; return whether it did."""

    def objects(self) -> Iterator[Object]:
        """Yield all objects, in no order."""

    def sweep(self, before: float) -> int:
        """Delete what interrupted writers left before a time; return how many files."""

    def url_of(self, digest: str) -> str:
        """Return the address of an object."""

    def path_of(self, digest: str) -> Path | None:
        """Return the path of an object on this machine, None where it has none."""


def missing(digest: str, url: str) -> LostArtifactError:
    """Return the error for an object that is not there."""
    return LostArtifactError(f"the stored object {digest[:12]} is missing ({url})", digest)


def altered(digest: str, url: str) -> LostArtifactError:
    """Return the error for an object with another content than its digest says."""
    return LostArtifactError(f"the stored object {digest[:12]} was altered ({url})", digest)


def parts_of(digest: str) -> tuple[str, str]:
    """Return folder and name of an object below `objects`."""
    return digest[:2], digest[2:]


def digest_of(folder: str, name: str) -> str | None:
    """Return the digest of an object from its folder and name, None for a file of another kind."""
    digest = folder + name
    is_one = len(folder) == 2 and len(digest) == 64 and set(digest) <= set("0123456789abcdef")
    return digest if is_one else None
