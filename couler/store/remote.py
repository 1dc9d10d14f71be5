"""Objects on any filesystem that fsspec knows."""

from __future__ import annotations

import contextlib
import hashlib
import io
import os
import secrets
import time
import typing as t
from collections.abc import Callable, Iterator, Mapping
from datetime import UTC, datetime
from pathlib import Path

from couler.errors import ArtifactError, StoreError
from couler.store.filesystems import OF_BUCKETS, open_filesystem, reported
from couler.store.places import BLOCK_BYTES, Object, altered, digest_of, missing, parts_of

if t.TYPE_CHECKING:
    from fsspec import AbstractFileSystem  # type: ignore[import-untyped]  # has no types

_REFRESH_S = 1800.0
"""An object older than this is made young again when it is stored once more.

It must be well below the age at which objects that nobody refers to are deleted.
"""

_MODIFIED = ("LastModified", "last_modified", "mtime", "updated", "modified", "created")
"""Under which names filesystems tell when a file was last written."""


class RemotePlace:
    """Objects below a folder of an fsspec filesystem."""

    def __init__(self, url: str, options: Mapping[str, object], *, sets_aside: bool = True) -> None:
        self._url = url.rstrip("/")
        self._sets_aside = sets_aside
        self._filesystem, self._root = open_filesystem(
            url, options, what=f"the artifact store {url}"
        )
        self._has_buckets = url.partition("://")[0] in OF_BUCKETS

    @property
    def lag_s(self) -> float:
        """What is young is not written anew; and clocks elsewhere may be some minutes apart."""
        return _REFRESH_S + 300.0

    def add(self, source: int) -> tuple[str, int]:
        """Store the rest of an open file; return its digest and size."""
        start = os.lseek(source, 0, os.SEEK_CUR)
        with open(source, "rb", closefd=False) as file:
            digest, size = _hash(file.read)
            if not self._has_young(digest, size):
                file.seek(start)
                self._send(file, digest, size)
        return digest, size

    def add_bytes(self, content: bytes) -> str:
        """Store a content that is in memory; return its digest."""
        digest = hashlib.sha256(content).hexdigest()
        if not self._has_young(digest, len(content)):
            self._send(io.BytesIO(content), digest, len(content))
        return digest

    def read(self, digest: str) -> bytes:
        """Return the content of an object."""
        content = io.BytesIO()
        self._receive(digest, content.write)
        return content.getvalue()

    def copy(self, digest: str, target: Path, mode: int) -> None:
        """Copy an object to a new file with a mode less the umask."""
        flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
        with open(os.open(target, flags, mode), "wb") as file:
            try:
                self._receive(digest, file.write)
                file.flush()
            except BaseException:
                os.unlink(target)
                raise

    def check(self, digest: str) -> None:
        """Read an object and compare its content with the digest."""
        self._receive(digest, len)

    def size(self, digest: str) -> int | None:
        """Return the size in bytes, None where there is no such object."""
        facts = self._facts(digest)
        return None if facts is None else facts.size

    def touch(self, digest: str) -> bool:
        """Make an object young; return whether it is there."""
        facts = self._facts(digest)
        if facts is None:
            return False
        return self._is_young(facts) or self._refresh(digest)

    def delete(self, digest: str, before: float | None) -> bool:
        """Delete an object that was last touched before a time; return whether it did."""
        facts = self._facts(digest)
        if facts is None or (before is not None and facts.modified >= before):
            return False
        with self._reported(), contextlib.suppress(FileNotFoundError):
            self._filesystem.rm_file(self._path(digest))
        return True

    def objects(self) -> Iterator[Object]:
        """Yield all objects, in no order."""
        for path, facts in self._files("objects"):
            folder, name = path.split("/")[-2:]
            digest = digest_of(folder, name)
            if digest is not None:
                yield Object(digest, int(facts["size"]), self._modified(path, facts))

    def sweep(self, before: float) -> int:
        """Delete what interrupted writers left before a time; return how many files."""
        count = 0
        for path, facts in self._files("tmp"):
            if self._modified(path, facts) < before:
                with self._reported(), contextlib.suppress(FileNotFoundError):
                    self._filesystem.rm_file(path)
                    count += 1
        return count

    def url_of(self, digest: str) -> str:
        """Return the address of an object."""
        return "/".join((self._url, "objects", *parts_of(digest)))

    def path_of(self, digest: str) -> Path | None:
        """Return None: other programs of this machine cannot open the object."""
        return None

    def _path(self, digest: str) -> str:
        return "/".join((self._root, "objects", *parts_of(digest)))

    def _has_young(self, digest: str, size: int) -> bool:
        facts = self._facts(digest)
        if facts is None or facts.size != size:
            return False
        return self._is_young(facts) or self._refresh(digest)

    def _is_young(self, facts: Object) -> bool:
        return facts.modified > time.time() - _REFRESH_S

    def _refresh(self, digest: str) -> bool:
        """Write an object anew from itself, on the other side; return whether it was there."""
        temporary = self._temporary()
        path = self._path(digest)
        try:
            with self._reported():
                self._filesystem.copy(path, temporary)
                self._move(temporary, path)
        except FileNotFoundError:
            return False
        return True

    def _send(self, file: t.BinaryIO, digest: str, size: int) -> None:
        temporary = self._temporary()
        try:
            with self._reported():
                # The number of blocks of one file is limited, to 10,000 on S3.
                block_bytes = max(16 * BLOCK_BYTES, size // 5000)
                with self._new_file(temporary, block_bytes) as target:
                    sent = _hash(file.read, target.write)
                if sent != (digest, size):
                    raise ArtifactError("a file was written to while it was stored")
                self._move(temporary, self._path(digest))
        except FileNotFoundError as error:
            raise StoreError(f"the artifact store {self._url}: {error}") from error
        except BaseException:
            with contextlib.suppress(OSError):
                self._filesystem.rm_file(temporary)
            raise

    def _new_file(self, path: str, block_bytes: int) -> t.BinaryIO:
        self._make_folder_of(path)
        file: t.BinaryIO = self._filesystem.open(path, "wb", block_size=block_bytes)
        return file

    def _move(self, source: str, target: str) -> None:
        self._make_folder_of(target)
        self._filesystem.mv(source, target)

    def _make_folder_of(self, path: str) -> None:
        if not self._has_buckets:
            self._filesystem.makedirs(path.rpartition("/")[0], exist_ok=True)

    def _receive(self, digest: str, write: Callable[[bytes], object]) -> None:
        try:
            with self._reported():
                source = self._filesystem.open(self._path(digest), "rb", block_size=8 * BLOCK_BYTES)
            with source:
                found, _ = _hash(lambda size: self._read(source, size), write)
        except FileNotFoundError:
            raise missing(digest, self.url_of(digest)) from None
        if found != digest:
            if self._sets_aside:
                self.delete(digest, None)
            raise altered(digest, self.url_of(digest))

    def _read(self, source: t.BinaryIO, size: int) -> bytes:
        with self._reported():
            return source.read(size)

    def _facts(self, digest: str) -> Object | None:
        path = self._path(digest)
        try:
            with self._reported():
                facts = self._as_it_is().info(path)
                return Object(digest, int(facts["size"]), self._modified(path, facts))
        except FileNotFoundError:
            return None

    def _files(self, folder: str) -> Iterator[tuple[str, Mapping[str, t.Any]]]:
        with self._reported():
            try:
                found = self._as_it_is().find(f"{self._root}/{folder}", detail=True)
            except FileNotFoundError:
                return
        yield from found.items()

    def _as_it_is(self) -> AbstractFileSystem:
        """Forget lists of files that were read before: other processes write there as well."""
        self._filesystem.invalidate_cache()
        return self._filesystem

    def _modified(self, path: str, facts: Mapping[str, t.Any]) -> float:
        """When a file was last written; now, and so never too old, where nobody knows."""
        found = next((facts[name] for name in _MODIFIED if facts.get(name) is not None), None)
        if isinstance(found, str):
            found = datetime.fromisoformat(found)
        if isinstance(found, datetime):
            return (found if found.tzinfo else found.replace(tzinfo=UTC)).timestamp()
        return float(found) if isinstance(found, int | float) else time.time()

    def _temporary(self) -> str:
        return f"{self._root}/tmp/{os.getpid()}-{secrets.token_hex(8)}"

    @contextlib.contextmanager
    def _reported(self) -> Iterator[None]:
        """Report what goes wrong on the other side with the address of the store."""
        with reported(f"the artifact store {self._url}"):
            yield


def _hash(read: Callable[[int], bytes], write: Callable[[bytes], object] = len) -> tuple[str, int]:
    """Read to the end and write what was read; return its digest and size."""
    digest = hashlib.sha256()
    size = 0
    while chunk := read(BLOCK_BYTES):
        digest.update(chunk)
        write(chunk)
        size += len(chunk)
    return digest.hexdigest(), size
