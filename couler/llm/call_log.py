"""A file that has every call, for people to read: a line of JSON each, without the key."""

from __future__ import annotations

import json
import os
import threading
import typing as t
from collections.abc import Iterator
from pathlib import Path

from couler.errors import ConfigurationError
from couler.llm.masking import Mask

SCHEMA_VERSION = 1
"""Of the lines of a log."""


class CallLog:
    """Appends calls to a file that only its owner can read."""

    def __init__(self, path: Path, mask: Mask) -> None:
        self.path = path
        self._mask = mask
        self._lock = threading.Lock()
        self._file = open_private(path, "the log of language models")

    def write(self, entry: dict[str, t.Any]) -> None:
        """Append a call."""
        line = line_of(self._mask.of({"schema_version": SCHEMA_VERSION, **entry}))
        with self._lock:
            write_all(self._file, line)

    def close(self) -> None:
        """Close the file; remove it if there was no call."""
        is_empty = os.fstat(self._file).st_size == 0
        os.close(self._file)
        if is_empty:
            self.path.unlink(missing_ok=True)


def read_log(path: Path) -> Iterator[dict[str, t.Any]]:
    """Yield the calls of a log."""
    try:
        lines = path.read_text(encoding="utf-8").split("\n")
    except (OSError, UnicodeDecodeError) as error:
        raise ConfigurationError(f"{path} cannot be read: {_why(error)}") from error
    for number, line in enumerate(lines, start=1):
        if not line:
            continue
        try:
            entry = json.loads(line)
        except ValueError:
            entry = None
        if not isinstance(entry, dict) or entry.get("schema_version") != SCHEMA_VERSION:
            raise ConfigurationError(
                f"{path}, line {number}: this is no call of a language model. A log has one line "
                f"of JSON for each call, of schema_version {SCHEMA_VERSION}"
            )
        yield entry


def line_of(value: t.Any) -> bytes:
    """Return a line of JSON."""
    text = json.dumps(value, ensure_ascii=False)
    return text.encode("utf-8", errors="backslashreplace") + b"\n"


def open_private(path: Path, what: str, *, fresh: bool = False) -> int:
    """Open a file for appending that only its owner can read, and make its folder."""
    flags = os.O_WRONLY | os.O_CREAT | os.O_APPEND | (os.O_EXCL if fresh else 0)
    if fresh and path.exists():
        raise ConfigurationError(
            f"{path} is there already: remove it, or name another file for {what}"
        )
    try:
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        file = os.open(path, flags, 0o600)
    except OSError as error:
        raise ConfigurationError(f"{what}, {path}, cannot be written: {_why(error)}") from error
    os.fchmod(file, 0o600)
    return file


def write_all(file: int, data: bytes) -> None:
    """Write all of some bytes."""
    while data:
        data = data[os.write(file, data) :]


def _why(error: Exception) -> str:
    return (error.strerror or str(error)) if isinstance(error, OSError) else "it is no text"
