"""Taking in what a process writes: to its log, without secrets, and for those who read it."""

from __future__ import annotations

import os
from collections.abc import Callable

from couler.backends.local.masking import Masker
from couler.backends.local.process import Streams, Take
from couler.ir.semantics.outputs import KEEP_BYTES


def streams_to(
    log: int, stdout: bytearray | None, secrets: tuple[str, ...]
) -> tuple[Streams, Callable[[], None]]:
    """Return where outputs go, and what is to be called at their end."""
    if not secrets:
        return Streams(log, None if stdout is None else _tee(log, stdout)), _nothing
    errors = Masker(secrets)

    def write_errors(chunk: bytes) -> None:
        write_all(log, errors.feed(chunk))

    if stdout is None:
        return Streams(None, write_errors, write_errors), lambda: write_all(log, errors.flush())
    outputs = Masker(secrets)
    keep = _keeper(stdout)

    def write_outputs(chunk: bytes) -> None:
        keep(chunk)
        write_all(log, outputs.feed(chunk))

    def flush() -> None:
        write_all(log, outputs.flush())
        write_all(log, errors.flush())

    return Streams(None, write_outputs, write_errors), flush


def _tee(log: int, stdout: bytearray) -> Take:
    keep = _keeper(stdout)

    def take(chunk: bytes) -> None:
        keep(chunk)
        write_all(log, chunk)

    return take


def _keeper(stdout: bytearray) -> Take:
    """Return what keeps the beginning of a stream, and one byte more than is of use."""

    def keep(chunk: bytes) -> None:
        stdout.extend(chunk[: max(0, KEEP_BYTES + 1 - len(stdout))])

    return keep


def write_all(log: int, text: bytes) -> None:
    """Write a text to an open file, whatever pieces the system takes it in."""
    while text:
        text = text[os.write(log, text) :]


def _nothing() -> None:
    """There is nothing left to write."""
