"""DAG files put where Airflow reads them, never half of one."""

from __future__ import annotations

import os
import tempfile
import typing as t
from pathlib import Path

from couler.errors import ConfigurationError, EngineError

if t.TYPE_CHECKING:
    from fsspec import AbstractFileSystem  # type: ignore[import-untyped]  # has no types


def put_file(dags: str, name: str, text: str) -> bool:
    """Put a file into a folder, and return whether that changed anything.

    It is written beside its place and moved there; a file that is there already with this text
    stays as it is.

    Parameters
    ----------
    dags
        The folder, or an address of it that fsspec knows, such as `s3://bucket/dags`.
    name, text
        The file.

    Raises
    ------
    ConfigurationError
        There is no such folder, or fsspec or what it needs for the address is not there.
    EngineError
        The file cannot be written.
    """
    if "://" in dags:
        return _put_far(dags, name, text.encode())
    return _put_near(Path(dags).expanduser(), name, text.encode())


def has_file(dags: str, name: str) -> bool:
    """Return whether a file is in a folder; the parameters and errors are those of `put_file`."""
    if "://" not in dags:
        return (Path(dags).expanduser() / name).is_file()
    filesystem, folder = _filesystem(dags)
    try:
        return bool(filesystem.exists(f"{folder}/{name}"))
    except OSError as error:
        raise EngineError(f"airflow: {dags} cannot be read: {error}") from error


def remove_file(dags: str, name: str) -> None:
    """Take a file out of a folder; nothing happens if it is not there.

    The parameters and errors are those of `put_file`.
    """
    try:
        if "://" not in dags:
            (Path(dags).expanduser() / name).unlink(missing_ok=True)
            return
        filesystem, folder = _filesystem(dags)
        if filesystem.exists(f"{folder}/{name}"):
            filesystem.rm_file(f"{folder}/{name}")
    except OSError as error:
        raise EngineError(f"airflow: {dags}/{name} cannot be removed: {error}") from error


def _put_near(folder: Path, name: str, content: bytes) -> bool:
    place = folder / name
    try:
        if not folder.is_dir():
            raise ConfigurationError(
                f"airflow: there is no folder {folder}. Set `dags` of the target to the folder "
                "that Airflow's DAG processor reads"
            )
        if place.is_file() and place.read_bytes() == content:
            return False
        # Hidden, and no name that ends in .py: the processor never takes it for a DAG file.
        number, hidden = tempfile.mkstemp(prefix=f".{name}.", suffix=".new", dir=folder)
        try:
            with os.fdopen(number, "wb") as file:
                file.write(content)
            os.chmod(hidden, 0o644)
            os.replace(hidden, place)
        except BaseException:
            os.unlink(hidden)
            raise
    except OSError as error:
        raise EngineError(f"airflow: {place} cannot be written: {error.strerror}") from error
    return True


def _put_far(address: str, name: str, content: bytes) -> bool:
    filesystem, folder = _filesystem(address)
    place, hidden = f"{folder}/{name}", f"{folder}/.{name}.new"
    try:
        if filesystem.exists(place) and filesystem.cat_file(place) == content:
            return False
        filesystem.pipe_file(hidden, content)
        filesystem.mv(hidden, place)
    except OSError as error:
        raise EngineError(f"airflow: {address}/{name} cannot be written: {error}") from error
    return True


def _filesystem(address: str) -> tuple[AbstractFileSystem, str]:
    from fsspec.core import url_to_fs  # type: ignore[import-untyped]  # has no types

    try:
        filesystem, folder = url_to_fs(address)
    except (ImportError, ValueError) as error:
        raise ConfigurationError(
            f"airflow: {address!r} is no folder of DAGs that can be reached: {error}"
        ) from error
    return filesystem, str(folder).rstrip("/")
