"""Files and folders on filesystems of fsspec, fetched and put."""

from __future__ import annotations

import contextlib
import typing as t
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath

from couler.errors import ArtifactError
from couler.locations.contents import contents_of
from couler.locations.stop import Stop
from couler.store.filesystems import OF_BUCKETS, open_filesystem, reported

if t.TYPE_CHECKING:
    from fsspec import AbstractFileSystem  # type: ignore[import-untyped]  # has no types


_AT_ONCE = 16
"""How many files are on their way together; each may be in memory as a whole."""

_WITH_MARKS = frozenset({"gcs", "gs", "oss", "s3", "s3a"})
"""Buckets in which an empty object whose key ends in `/` stands for a folder.

That of Azure is not: adlfs takes the slash away, so that the mark would be a file.
"""


@dataclass(frozen=True, slots=True)
class Tree:
    """A file, or all files below a path, on a filesystem of fsspec."""

    root: str
    key: str
    options: Mapping[str, t.Any]
    bucket: str | None = None
    create: Mapping[str, t.Any] = field(default_factory=dict)
    replaces: bool = True

    @property
    def url(self) -> str:
        """The address, for messages."""
        return f"{self.root.rstrip('/')}/{self.key.lstrip('/')}"

    def fetch(self, target: Path) -> None:
        """Copy it to a path that is free."""
        with self._open() as (filesystem, path):
            if filesystem.isfile(path):
                filesystem.get_file(path, str(target))
                return
            try:
                found = filesystem.find(path, withdirs=not self._is_bucket, detail=True)
            except FileNotFoundError:
                found = {}
            if not found and not filesystem.isdir(path):
                raise FileNotFoundError(f"there is nothing at {self.url}")
            folders, files = _inside(found, path, target)
            for folder in (target, *folders, *(place.parent for place in files)):
                folder.mkdir(parents=True, exist_ok=True)
            if files:
                filesystem.get(list(files.values()), [str(place) for place in files])

    def names(self) -> list[str]:
        """Return the paths of all files below it, from there on."""
        with self._open() as (filesystem, path):
            try:
                files: list[str] = filesystem.find(path)
            except FileNotFoundError:
                files = []
            start = f"{path}/"
            below = [name for name in files if name.startswith(start) and not name.endswith("/")]
            if not below:
                raise FileNotFoundError(f"there is no file below {self.url}")
            return [name.removeprefix(start) for name in below]

    def put(self, source: Path, root: Path, stop: Stop | None = None) -> None:
        """Copy a file or a directory there, what links lead to in place of the links."""
        folders: list[str] = []
        files: dict[str, Path] = {}
        if source.is_dir():
            for name, file in contents_of(source, root, stop or Stop()):
                if file is None:
                    folders.append(f"/{name}".rstrip("/"))
                else:
                    files[f"/{name}"] = file
        else:
            files[""] = source
        self._require_keeping(folders)
        with self._open() as (filesystem, path):
            if self.bucket is not None and not filesystem.exists(self.bucket):
                self._make_bucket(filesystem, self.bucket)
            if not self.replaces:
                self._require_free(filesystem, [path + name for name in files])
            for name in folders:
                self._make_folder(filesystem, path + name)
            if not self._is_bucket:
                for parent in {(path + name).rpartition("/")[0] for name in files}:
                    filesystem.makedirs(parent, exist_ok=True)
            if files:
                filesystem.put([str(f) for f in files.values()], [path + name for name in files])

    @property
    def _protocol(self) -> str:
        return self.root.partition("://")[0]

    @property
    def _is_bucket(self) -> bool:
        return self._protocol in OF_BUCKETS

    def _make_bucket(self, filesystem: AbstractFileSystem, bucket: str) -> None:
        if self._protocol == "s3":
            filesystem.call_s3("create_bucket", Bucket=bucket, **self.create)
        else:
            filesystem.mkdir(bucket)

    def _make_folder(self, filesystem: AbstractFileSystem, path: str) -> None:
        """Make an empty folder, which in a bucket is a mark."""
        if not self._is_bucket:
            filesystem.makedirs(path, exist_ok=True)
        elif self._protocol in ("s3", "s3a"):  # s3fs takes the slash away as well
            bucket, _, key = path.partition("/")
            filesystem.call_s3("put_object", Bucket=bucket, Key=f"{key}/")
        else:
            filesystem.pipe_file(f"{path}/", b"")

    def _require_keeping(self, folders: list[str]) -> None:
        if folders and self._is_bucket and self._protocol not in _WITH_MARKS:
            raise ArtifactError(
                f"{self.url + folders[0]} is an empty folder, which this storage does not keep. "
                "Put a file into it, or put an archive"
            )

    def _require_free(self, filesystem: AbstractFileSystem, paths: list[str]) -> None:
        for path in paths:
            if filesystem.isfile(path):
                raise ArtifactError(
                    f"there is a file at {path} already. Say force=True to replace it"
                )

    @contextlib.contextmanager
    def _open(self) -> Iterator[tuple[AbstractFileSystem, str]]:
        with reported(self.url):
            filesystem, root = open_filesystem(
                self.root, {**self.options, "skip_instance_cache": True}, what=self.url
            )
            filesystem.batch_size = _AT_ONCE  # of those that send several
            yield filesystem, f"{root}/{self.key.strip('/')}"


def _inside(
    found: Mapping[str, Mapping[str, t.Any]], path: str, target: Path
) -> tuple[list[Path], dict[Path, str]]:
    """Return where the folders below a path go, and what goes to where of its files."""
    folders: list[Path] = []
    files: dict[Path, str] = {}
    for name, info in sorted(found.items()):
        if name.rstrip("/") == path:
            continue
        place = target / _relative(name, path)
        if name.endswith("/") or info.get("type") == "directory":  # buckets mark folders so
            folders.append(place)
        elif place in files:
            raise ArtifactError(f"{name!r} and {files[place]!r} are files of one name")
        else:
            files[place] = name
    around = {parent for place in (*folders, *files) for parent in place.parents} | {*folders}
    both = [place for place in files if place in around]
    if both:
        raise ArtifactError(f"{files[both[0]]!r} is a file, and a folder with files in it as well")
    return folders, files


def _relative(name: str, path: str) -> str:
    parts = PurePosixPath(name.removeprefix(path).lstrip("/"))
    if not parts.parts or not {"..", "."}.isdisjoint(parts.parts):
        raise ArtifactError(f"{name!r} is no path below {path!r}")
    return str(parts)
