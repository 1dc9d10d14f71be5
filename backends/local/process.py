"""Running one process with its group, to its end, its time limit or a stop."""

from __future__ import annotations

import contextlib
import os
import selectors
import signal
import subprocess
import sys
import threading
import time
import typing as t
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

GRACE_S = 2.0
"""Seconds between the request to end (SIGTERM) and the end by force (SIGKILL)."""

_POLL_S = 0.1
_CHUNK = 65536
_DRAIN_S = 1.0


class ProcessEnd(t.NamedTuple):
    """How a process ended."""

    reason: t.Literal["exit", "timeout", "stopped"]
    exit_code: int
    """As a shell tells it: 128 plus its number for a signal."""
    stdout: bytes
    """The beginning of standard output, at most `keep_bytes` and one more."""


def run_process(
    words: Sequence[str],
    *,
    environ: Mapping[str, str],
    directory: Path,
    on_output: Callable[[t.Literal["stdout", "stderr"], bytes], None],
    deadline: float | None,
    stop: threading.Event,
    keep_bytes: int,
) -> ProcessEnd:
    """Run a command in a session of its own and wait for its end.

    Nothing of its process group outlives it, however it ends.

    Parameters
    ----------
    words
        The program and its arguments; `python` is the interpreter that runs this.
    environ
        The whole environment.
    directory
        Where it runs.
    on_output
        Called with what it writes, as it comes.
    deadline
        When to end it, as `time.monotonic()` tells it; None for never.
    stop
        Set from elsewhere to end it.
    keep_bytes
        How much of standard output to keep; one byte more tells that there was more.

    Raises
    ------
    OSError, ValueError
        It cannot be started: there is no such program, or a text holds what no process can
        be given.
    """
    program = sys.executable if words[0] in ("python", "python3") else words[0]
    process = subprocess.Popen(
        [program, *words[1:]],
        env=dict(environ),
        cwd=directory,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        start_new_session=True,
    )
    kept = bytearray()

    def take(name: t.Literal["stdout", "stderr"], chunk: bytes) -> None:
        if name == "stdout":
            kept.extend(chunk[: max(0, keep_bytes + 1 - len(kept))])
        on_output(name, chunk)

    with process, _Pipes(process, take) as pipes:
        try:
            reason = _await_end(process, pipes, deadline, stop)
        finally:
            _signal_group(process, signal.SIGKILL)
        code = process.wait()
        pipes.drain()
    return ProcessEnd(reason, code if code >= 0 else 128 - code, bytes(kept))


def _await_end(
    process: subprocess.Popen[bytes],
    pipes: _Pipes,
    deadline: float | None,
    stop: threading.Event,
) -> t.Literal["exit", "timeout", "stopped"]:
    reason: t.Literal["timeout", "stopped"] | None = None
    while True:
        pipes.read(_POLL_S if deadline is None else min(_POLL_S, deadline - time.monotonic()))
        if process.poll() is not None:
            return reason or "exit"
        is_late = deadline is not None and time.monotonic() >= deadline
        if reason is None and (stop.is_set() or is_late):
            reason = "stopped" if stop.is_set() else "timeout"
            _signal_group(process, signal.SIGTERM)
            deadline = time.monotonic() + GRACE_S
        elif is_late:
            _signal_group(process, signal.SIGKILL)
            deadline = None


def _signal_group(process: subprocess.Popen[bytes], number: int) -> None:
    with contextlib.suppress(ProcessLookupError):  # all of it has ended
        os.killpg(process.pid, number)


class _Pipes:
    """The two outputs of a process, read without blocking for longer than asked."""

    def __init__(
        self,
        process: subprocess.Popen[bytes],
        take: Callable[[t.Literal["stdout", "stderr"], bytes], None],
    ) -> None:
        self._take = take
        self._selector = selectors.DefaultSelector()
        self._selector.register(process.stdout, selectors.EVENT_READ, "stdout")  # type: ignore[arg-type]  # is a pipe
        self._selector.register(process.stderr, selectors.EVENT_READ, "stderr")  # type: ignore[arg-type]  # is a pipe
        self._end_fd: int | None = None
        if hasattr(os, "pidfd_open"):  # wakes up at the end of the process itself
            self._end_fd = os.pidfd_open(process.pid)
            self._selector.register(self._end_fd, selectors.EVENT_READ, "end")

    def __enter__(self) -> _Pipes:
        return self

    def __exit__(self, *_error: object) -> None:
        self._selector.close()
        if self._end_fd is not None:
            os.close(self._end_fd)

    def read(self, wait_s: float) -> bool:
        """Read what is there, or comes within some seconds; tell whether there was anything."""
        got = False
        for key, _ in self._selector.select(max(0.0, wait_s)):
            if key.data == "end":
                continue
            chunk = os.read(key.fd, _CHUNK)
            if chunk:
                got = True
                self._take(key.data, chunk)
            else:
                self._selector.unregister(key.fileobj)
        return got

    def drain(self) -> None:
        """Read what is left, which a process that left the group may still be adding to."""
        until = time.monotonic() + _DRAIN_S
        while self.read(0.0) and time.monotonic() < until:
            pass
