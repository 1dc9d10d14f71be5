"""DAG files put where Airflow reads them, never half of one."""

from __future__ import annotations

import contextlib
import os
import tempfile
import threading
import typing as t
import uuid
from collections.abc import Callable, Iterator
from pathlib import Path

from couler.errors import ConfigurationError, RefusedError

if t.TYPE_CHECKING:
    from fsspec import AbstractFileSystem  # type: ignore[import-untyped]  # has no types

_T = t.TypeVar("_T")

_LIMIT_S = 120.0
"""How long a file system elsewhere may take; many of them have no limit of their own."""


def put_file(dags: str, name: str, text: str, *, limit_s: float = _LIMIT_S) -> bool:
    """Put a file into a folder, and return whether that changed anything."""
    content = text.encode()
    if "://" not in dags:
        return _put_near(Path(dags).expanduser(), name, content)

    def put(filesystem: AbstractFileSystem, folder: str) -> bool:
        place = f"{folder}/{name}"
        if filesystem.exists(place) and filesystem.cat_file(place) == content:
            return False
        # Of two that write at the same time, neither moves what the other has half written.
        hidden = f"{folder}/.{name}.{uuid.uuid4().hex}.new"
        try:
            filesystem.pipe_file(hidden, content)
            filesystem.mv(hidden, place)
        except BaseException:
            with contextlib.suppress(Exception):  # the first error tells why
                filesystem.rm_file(hidden)
            raise
        return True

    return _far(dags, f"{name} cannot be written", put, limit_s)


def read_file(dags: str, name: str, *, limit_s: float = _LIMIT_S) -> str | None:
    """Return the text of a file in a folder; None if it is not there."""
    if "://" not in dags:
        with _near(Path(dags).expanduser() / name, "read"):
            try:
                return (Path(dags).expanduser() / name).read_bytes().decode()
            except (FileNotFoundError, NotADirectoryError):
                return None

    def read(filesystem: AbstractFileSystem, folder: str) -> str | None:
        place = f"{folder}/{name}"
        return filesystem.cat_file(place).decode() if filesystem.exists(place) else None

    return _far(dags, f"{name} cannot be read", read, limit_s)


def has_file(dags: str, name: str, *, limit_s: float = _LIMIT_S) -> bool:
    """Return whether a file is in a folder; the parameters and errors are those of `put_file`."""
    if "://" not in dags:
        return (Path(dags).expanduser() / name).is_file()

    def look(filesystem: AbstractFileSystem, folder: str) -> bool:
        return bool(filesystem.exists(f"{folder}/{name}"))

    return _far(dags, f"{name} cannot be looked for", look, limit_s)


def remove_file(dags: str, name: str, *, limit_s: float = _LIMIT_S) -> None:
    """Take a file out of a folder; nothing happens if it is not there."""
    if "://" not in dags:
        place = Path(dags).expanduser() / name
        with _near(place, "removed"):
            place.unlink(missing_ok=True)
        return

    def remove(filesystem: AbstractFileSystem, folder: str) -> None:
        if filesystem.exists(f"{folder}/{name}"):
            filesystem.rm_file(f"{folder}/{name}")

    _far(dags, f"{name} cannot be removed", remove, limit_s)


# on this machine -----------------------------------------------------------------------------


def _put_near(folder: Path, name: str, content: bytes) -> bool:
    place = folder / name
    with _near(place, "written"):
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
    return True


@contextlib.contextmanager
def _near(place: Path, done: str) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise RefusedError(f"airflow: {place} cannot be {done}: {error.strerror}") from error


# elsewhere -----------------------------------------------------------------------------------


def _far(
    address: str, what: str, work: Callable[[AbstractFileSystem, str], _T], limit_s: float
) -> _T:
    """Return what some work with a file system elsewhere gives."""
    results: list[_T] = []
    errors: list[Exception] = []

    def run() -> None:
        try:
            results.append(work(*_filesystem(address)))
        except Exception as error:  # noqa: BLE001 - each file system has errors of its own
            errors.append(error)

    thread = threading.Thread(target=run, name="dags", daemon=True)
    thread.start()
    thread.join(limit_s)
    if results:
        return results[0]
    if not errors:
        raise RefusedError(f"airflow: {address}: {what}: no answer within {limit_s:.0f} s")
    if isinstance(errors[0], ConfigurationError):
        raise errors[0]
    reason = " ".join(str(errors[0]).split()) or type(errors[0]).__name__
    raise RefusedError(f"airflow: {address}: {what}: {reason}") from errors[0]


def _filesystem(address: str) -> tuple[AbstractFileSystem, str]:
    from fsspec.core import url_to_fs  # type: ignore[import-untyped]  # has no types

    try:
        filesystem, folder = url_to_fs(address)
    except (ImportError, ValueError) as error:
        raise ConfigurationError(
            f"airflow: {address!r} is no folder of DAGs that can be reached: {error}"
        ) from error
    return filesystem, str(folder).rstrip("/")
