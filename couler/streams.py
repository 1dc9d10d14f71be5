"""Streams for messages, which end nothing where they cannot be written."""

from __future__ import annotations

import contextlib
import io


class _MessageStream(io.TextIOWrapper):
    """A stream for messages: what cannot be written to it is lost, and ends nothing."""

    def write(self, text: str, /) -> int:
        with contextlib.suppress(OSError):
            super().write(text)
        return len(text)

    def flush(self) -> None:
        with contextlib.suppress(OSError):
            super().flush()


def message_stream(number: int, encoding: str) -> io.TextIOWrapper:
    """Return a stream to a descriptor, which stays open when the stream is closed."""
    return _MessageStream(
        io.BufferedWriter(io.FileIO(number, "w", closefd=False)),
        encoding=encoding,
        errors="backslashreplace",
        line_buffering=True,
    )
