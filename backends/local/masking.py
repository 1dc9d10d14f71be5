"""Keeping the values of secrets out of logs and messages, and of what a process writes."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from urllib.parse import quote

from couler.backends.local.process import Streams, Take
from couler.ir.semantics.outputs import KEEP_BYTES

MASK = b"***"

_SHORTEST_LINE = 4
"""Lines of a secret of several lines are masked one by one from this length on, in bytes."""

_GLANCE = 16
"""So many bytes are compared before all, since secrets may be long."""


class Masker:
    """Replaces secrets in a stream of bytes, also where one is cut in two by the reading."""

    def __init__(self, secrets: Iterable[str]) -> None:
        self._needles = {needle for secret in secrets for needle in _needles(secret)}
        self._held = b""
        self._covered = 0  # so much of what is held is masked already

    def feed(self, chunk: bytes) -> bytes:
        """Take in more of the stream and return what of it can be shown."""
        if not self._needles:
            return chunk
        text = self._held + chunk
        return self._show(text, min(_open_from(text, needle) for needle in self._needles))

    def flush(self) -> bytes:
        """Return what was held back."""
        return self._show(self._held, len(self._held))

    def _show(self, text: bytes, end: int) -> bytes:
        """Return a text up to an end, masked, and hold the rest."""
        parts, done = [], self._covered
        for start, stop in sorted(self._found(text)):
            if start >= end:
                break
            if start >= done:
                parts += [text[done:start], MASK]
            done = max(done, stop)
        parts.append(text[done:end])
        self._held, self._covered = text[end:], max(0, done - end)
        return b"".join(parts)

    def _found(self, text: bytes) -> Iterator[tuple[int, int]]:
        """Yield where secrets begin and end, those that overlap too."""
        for needle in self._needles:
            at = text.find(needle)
            while at >= 0:
                yield at, at + len(needle)
                at = text.find(needle, at + 1)


def _needles(secret: str) -> Iterator[bytes]:
    """Yield what is looked for: a secret without line breaks around it, and its longer lines."""
    whole = secret.strip("\r\n").encode(errors="surrogateescape")
    if whole.strip():
        yield whole
        lines = whole.splitlines()
        yield from (line for line in lines if len(line) >= _SHORTEST_LINE and line.strip())


def _open_from(text: bytes, needle: bytes) -> int:
    """Where the end of a text begins that is the beginning of a needle, but not all of it."""
    at = text.find(needle[:1], max(0, len(text) - len(needle) + 1))
    while at >= 0:
        glance = text[at : at + _GLANCE]
        if needle.startswith(glance) and needle.startswith(text[at:]):
            return at
        at = text.find(needle[:1], at + 1)
    return len(text)


def masked(text: str | None, secrets: Sequence[str]) -> str | None:
    """Return a text without the values of secrets; None stays None."""
    if text is None or not secrets:
        return text
    forms = {
        form
        for secret in secrets
        for form in (secret, repr(secret)[1:-1], quote(secret, "", errors="surrogateescape"))
    }
    masker = Masker(forms)
    shown = masker.feed(text.encode(errors="surrogateescape")) + masker.flush()
    return shown.decode(errors="surrogateescape")


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
