"""Standard streams that are closed, full or without a reader, as cron and log disks give them."""

from __future__ import annotations

import io
import os
import sys
import typing as t


class _Forgiving(io.FileIO):
    """A stream for messages: what cannot be written to it is lost, and ends nothing."""

    def write(self, data: object, /) -> int:
        try:
            return super().write(data)  # type: ignore[arg-type]  # any buffer, as its base has it
        except OSError:
            return len(memoryview(data).cast("B"))  # type: ignore[arg-type]  # likewise


def steady_streams() -> None:
    """Put the null device behind closed streams, and let messages on standard error be lost.

    What is opened next would get the number of a closed stream, and what is printed.
    """
    for number, name in enumerate(("stdin", "stdout", "stderr")):
        try:
            os.fstat(number)
        except OSError:
            os.open(os.devnull, os.O_RDWR)  # gets the lowest number that is free, which is this one
        if getattr(sys, name) is None:
            mode = "w" if number else "r"
            setattr(sys, name, open(number, mode, encoding="utf-8", closefd=False))  # noqa: SIM115
    if isinstance(sys.stderr, io.TextIOWrapper):
        sys.stderr = io.TextIOWrapper(
            io.BufferedWriter(_Forgiving(2, "w", closefd=False)),
            encoding=sys.stderr.encoding,
            errors="backslashreplace",
            line_buffering=True,
        )


def silence(stream: t.TextIO) -> None:
    """Send to the null device what a stream holds and gets, as Python flushes it at its end."""
    null = os.open(os.devnull, os.O_WRONLY)
    os.dup2(null, stream.fileno())
    os.close(null)
