"""Files with credentials, for programs and packages that take them in no other way."""

from __future__ import annotations

import os
import typing as t
from pathlib import Path


def write_private(path: Path, text: str | None, mode: t.Literal[0o600, 0o700] = 0o600) -> Path:
    """Write a new file that nobody but its owner can read, and return its path."""
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC
    with open(os.open(path, flags, mode), "w", encoding="utf-8") as file:
        file.write(text or "")
    return path
