"""Files of calls with a JSON object per line, which only their owner can read, without the key."""

from __future__ import annotations

import json
import os
import threading
import typing as t
from collections.abc import Iterator, Mapping
from pathlib import Path

from couler.errors import ConfigurationError

LOG_VERSION = 2

_MIN_KEY_LENGTH = 8  # a shorter key is a placeholder such as `none`, which texts may contain

Json: t.TypeAlias = dict[str, t.Any]


class JsonLines:
    """Appends JSON objects to a file; it is removed again if it stays empty."""

    def __init__(self, path: Path, what: str, key: str, *, fresh: bool = False) -> None:
        self._path = path
        self._key = key
        self._lock = threading.Lock()
        flags = os.O_WRONLY | os.O_CREAT | os.O_APPEND | (os.O_EXCL if fresh else 0)
        try:
            path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            self._file = os.fdopen(os.open(path, flags, 0o600), "ab")
            os.fchmod(self._file.fileno(), 0o600)
        except OSError as error:
            message = f"{what}, {path}, cannot be written: {error.strerror}"
            if fresh and path.exists():
                message = f"{path} already exists: remove it, or choose another file for {what}"
            raise ConfigurationError(message) from error

    def write(self, entry: Json) -> None:
        """Append an object."""
        text = json.dumps(masked(entry, self._key), ensure_ascii=False)
        with self._lock:
            self._file.write(text.encode("utf-8", errors="backslashreplace") + b"\n")
            self._file.flush()

    def close(self) -> None:
        """Close the file."""
        is_empty = self._file.tell() == 0
        self._file.close()
        if is_empty:
            self._path.unlink(missing_ok=True)


def read_lines(path: Path, what: str, version: int) -> Iterator[tuple[str, Json]]:
    """Yield the objects of a file, and where each is."""
    try:
        lines = path.read_text(encoding="utf-8").split("\n")
    except (OSError, UnicodeDecodeError) as error:
        raise ConfigurationError(f"{path} cannot be read: {error}") from error
    for number, line in enumerate(lines, start=1):
        if not line:
            continue
        where = f"{path}, line {number}"
        try:
            entry = json.loads(line)
        except ValueError:
            entry = None
        if not isinstance(entry, dict) or entry.get("schema_version") != version:
            raise ConfigurationError(f"{where}: this is no {what} of schema_version {version}")
        yield where, entry


def read_log(path: Path) -> Iterator[Json]:
    """Yield the calls of a log."""
    for _, entry in read_lines(path, "call of a language model", LOG_VERSION):
        yield entry


def masked(value: t.Any, key: str) -> t.Any:
    """Return a text or JSON value without the key."""
    if len(key) < _MIN_KEY_LENGTH:
        return value
    if isinstance(value, str):
        return value.replace(key, "***")
    if isinstance(value, Mapping):
        return {masked(name, key): masked(one, key) for name, one in value.items()}
    if isinstance(value, list | tuple):
        return [masked(one, key) for one in value]
    return value
