"""Archives as files are kept in them outside of a workflow: tar and zip."""

from __future__ import annotations

import gzip
import lzma
import os
import shutil
import stat
import tarfile
import typing as t
import zipfile
import zlib
from pathlib import Path, PurePosixPath

from couler.errors import ArtifactError
from couler.ir.artifacts import Archive, Zip
from couler.locations.contents import contents_of
from couler.locations.stop import Stop

_LEVEL = 6
"""Of the compression, where none is asked for."""

_READ_BYTES = 1024 * 1024

_NO_DATE = (1980, 1, 1, 0, 0, 0)
"""The earliest that a zip archive can say: equal files make equal archives."""


def pack(
    source: Path, root: Path, target: Path, archive: Archive, stop: Stop | None = None
) -> None:
    """Put a file or a directory, with its name, into a new archive."""
    stop = stop or Stop()
    if isinstance(archive, Zip):
        _pack_zip(source, root, target, stop)
        return
    level = _LEVEL if archive.level is None else archive.level
    with (
        target.open("wb") as file,
        gzip.GzipFile("", "wb", level, file, mtime=0) as packed,
        tarfile.open(fileobj=packed, mode="w", format=tarfile.PAX_FORMAT) as tar,
    ):
        for path in _inside(source):
            stop.check()
            name = str(Path(source.name, path.relative_to(source)))
            tar.add(path, name, recursive=False, filter=_without_owner)


_BROKEN = (
    tarfile.TarError,
    zipfile.BadZipFile,
    gzip.BadGzipFile,
    zlib.error,
    lzma.LZMAError,
    EOFError,
    RuntimeError,  # an entry of a zip archive is encrypted,
    NotImplementedError,  # or packed in an unknown way
    ValueError,
)
"""What the modules of archives raise where the archive is to blame."""


def unpack(source: Path, target: Path, archive: Archive) -> None:
    """Unpack an archive to a path that is free."""
    folder = target.with_name(f".{target.name}.unpacked")
    folder.mkdir(parents=True)
    try:
        if isinstance(archive, Zip):
            _unpack_zip(source, folder)
        else:
            _unpack_tar(source, folder)
        entries = list(folder.iterdir())
        only = entries[0] if len(entries) == 1 else folder
        only.rename(target)
    except _BROKEN as error:
        raise ArtifactError(f"it is no {archive.kind} archive that can be read: {error}") from error
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _inside(source: Path) -> list[Path]:
    """Return a path and all below it in order, folders before what they hold."""
    if not source.is_dir():
        return [source]
    found = [source]
    for folder, folders, files in os.walk(source):
        folders.sort()
        links = [name for name in folders if Path(folder, name).is_symlink()]
        found += [Path(folder, name) for name in sorted([*folders, *files])]
        for name in links:  # they are kept as links
            folders.remove(name)
    return found


def _without_owner(entry: tarfile.TarInfo) -> tarfile.TarInfo:
    entry.uid = entry.gid = 0
    entry.uname = entry.gname = ""
    entry.mtime = 0
    return entry


def _pack_zip(source: Path, root: Path, target: Path, stop: Stop) -> None:
    with zipfile.ZipFile(target, "w", zipfile.ZIP_DEFLATED) as archive:
        if not source.is_dir():
            _add_to_zip(archive, source.name, source)
            return
        for name, file in contents_of(source, root, stop):
            _add_to_zip(archive, str(PurePosixPath(source.name, name)), file)


def _add_to_zip(archive: zipfile.ZipFile, name: str, file: Path | None) -> None:
    """Add a file, or a folder that has nothing in it."""
    info = zipfile.ZipInfo(f"{name}/" if file is None else name, _NO_DATE)
    info.compress_type = zipfile.ZIP_DEFLATED
    mode = stat.S_IFDIR | 0o755
    if file is not None:
        mode = file.stat().st_mode
        info.file_size = file.stat().st_size  # a large one has a header of its own
    info.external_attr = (mode & 0xFFFF) << 16
    with archive.open(info, "w") as entry:
        if file is not None:
            with file.open("rb") as content:
                shutil.copyfileobj(content, entry)


class _Header(tarfile.TarInfo):
    """A header that is not taken for the end of the archive if it is damaged."""

    @classmethod
    def frombuf(cls, buf: bytes | bytearray, encoding: str, errors: str) -> t.Self:
        try:
            return super().frombuf(buf, encoding, errors)
        except tarfile.HeaderError as error:
            if not buf or buf.count(0) == tarfile.BLOCKSIZE:  # the end of every archive
                raise
            raise tarfile.ReadError(str(error)) from error


def _unpack_tar(source: Path, folder: Path) -> None:
    with tarfile.open(source, "r:*", tarinfo=_Header) as tar:
        tar.extractall(folder, filter="data")
        while tar.fileobj.read(_READ_BYTES):
            """What is compressed has its checksum at the very end."""


def _unpack_zip(source: Path, folder: Path) -> None:
    with zipfile.ZipFile(source) as archive:
        for info in archive.infolist():
            parts = PurePosixPath(info.filename)
            if parts.is_absolute() or ".." in parts.parts:
                raise ArtifactError(f"{info.filename!r} leads out of the archive")
            made = Path(archive.extract(info, folder))
            mode = (info.external_attr >> 16) & 0o777
            if mode & stat.S_IXUSR and made.is_file():
                made.chmod(made.stat().st_mode | stat.S_IXUSR)
