"""Running one process with its group, to its end, its time limit or a stop."""

from __future__ import annotations

import asyncio
import contextlib
import os
import resource
import signal
import subprocess
import sys
import time
import typing as t
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from couler.backends.local.limits import Limits

GRACE_S = 2.0
"""Seconds between the request to end (SIGTERM) and the end by force (SIGKILL)."""

_CHUNK = 65536
_DRAIN_S = 1.0
_POLL_S = 0.02

Take: t.TypeAlias = Callable[[bytes], None]


class LostOutputError(Exception):
    """What a process wrote could not be taken in, as where a disk is full."""


class LostProcessError(Exception):
    """How a process ended cannot be told, as something else has waited for it."""


class Usage(t.NamedTuple):
    """What a process and those it waited for have used."""

    cpu_s: float
    peak_bytes: int | None
    """The most memory that one of them had; None where it is not above that of the engine, as
    the system counts from there."""


class ProcessEnd(t.NamedTuple):
    """How a process ended."""

    reason: str | None
    """Why it was ended from here, as the limits tell; None where it ended by itself."""
    exit_code: int
    """As a shell tells it: 128 plus its number for a signal."""
    usage: Usage


@dataclass(frozen=True, slots=True)
class Streams:
    """Where what a process writes goes."""

    log: int | None = None
    stdout: Take | None = None
    stderr: Take | None = None


async def run_process(
    words: Sequence[str],
    *,
    environ: Mapping[str, str],
    directory: Path,
    streams: Streams,
    limits: Limits,
    on_start: Callable[[int], None],
    inherits: Sequence[int] = (),
    grace_s: float = GRACE_S,
) -> ProcessEnd:
    """Run a command in a session of its own and wait for its end."""
    shared = streams.stdout is streams.stderr
    process = subprocess.Popen(
        [_utf8(word) for word in words],
        env={_utf8(name): _utf8(value) for name, value in environ.items()},
        cwd=directory,
        stdin=subprocess.DEVNULL,
        stdout=streams.log if streams.stdout is None else subprocess.PIPE,
        stderr=subprocess.STDOUT if shared else _pipe_or(streams.log, streams.stderr),
        start_new_session=True,
        pass_fds=inherits,
    )
    own_peak = _own_peak()
    watch = _Watch(process)
    try:
        watch.follow(streams)
        forget = limits.on_end(lambda: watch.end_softly(grace_s))
        try:
            on_start(process.pid)
            status, used = await watch.ended
        finally:
            forget()
    finally:
        watch.close()
    code = os.waitstatus_to_exitcode(status)
    peak = used.ru_maxrss * _RSS_UNIT
    usage = Usage(used.ru_utime + used.ru_stime, peak if peak > own_peak else None)
    return ProcessEnd(watch.reason and limits.reached, code if code >= 0 else 128 - code, usage)


def _utf8(text: str) -> bytes:
    """Return what a process gets of a text, whatever the locale; inherited bytes stay."""
    return text.encode("utf-8", "surrogateescape")


_RSS_UNIT = 1 if sys.platform == "darwin" else 1024


def _own_peak() -> int:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * _RSS_UNIT


def _pipe_or(log: int | None, take: Take | None) -> int | None:
    return log if take is None else subprocess.PIPE


class _Watch:
    """Follows a process in the event loop until it and its group have ended."""

    def __init__(self, process: subprocess.Popen[bytes]) -> None:
        self.reason: str | None = None
        loop = asyncio.get_running_loop()
        self._loop = loop
        self._process = process
        self._pipes: dict[int, Take] = {}
        self._timers: list[asyncio.TimerHandle] = []
        self._end_fd: int | None = None
        self.ended: asyncio.Future[tuple[int, resource.struct_rusage]] = loop.create_future()

    def follow(self, streams: Streams) -> None:
        """Have the loop tell of the outputs and of the end."""
        loop, process = self._loop, self._process
        for pipe, take in ((process.stdout, streams.stdout), (process.stderr, streams.stderr)):
            if pipe is not None and take is not None:
                os.set_blocking(pipe.fileno(), False)
                self._pipes[pipe.fileno()] = take
                loop.add_reader(pipe.fileno(), self._read, pipe.fileno())
        if hasattr(os, "pidfd_open"):
            # An old kernel, a sandbox or a limit of open files may refuse it.
            with contextlib.suppress(OSError):
                self._end_fd = os.pidfd_open(process.pid)
        if self._end_fd is None:
            self._timers.append(loop.call_later(_POLL_S, self._poll))
        else:
            loop.add_reader(self._end_fd, self._reap)

    def end_softly(self, grace_s: float) -> None:
        """Ask the group to end, and end it by force after some seconds."""
        if self.ended.done():
            return
        self.reason = "limits"
        self._signal(signal.SIGTERM)
        self._timers.append(self._loop.call_later(grace_s, self._signal, signal.SIGKILL))

    def close(self) -> None:
        """Leave nothing behind, whether or not the process has ended."""
        for timer in self._timers:
            timer.cancel()
        if self._end_fd is not None:
            self._loop.remove_reader(self._end_fd)
            os.close(self._end_fd)
        # What became another user's is not waited for, as it does not end for us.
        if self._process.returncode is None and self._signal(signal.SIGKILL):
            self._process.wait()
        for descriptor in tuple(self._pipes):
            self._drain(descriptor)
            self._loop.remove_reader(descriptor)
        for pipe in (self._process.stdout, self._process.stderr):
            if pipe is not None:
                pipe.close()

    def _poll(self) -> None:
        if not self._reap_with(os.WNOHANG):
            self._timers.append(self._loop.call_later(_POLL_S, self._poll))

    def _reap(self) -> None:
        if self.ended.done():
            return
        self._signal(signal.SIGKILL)  # first: then the number of the group is free for others
        self._reap_with(0)

    def _reap_with(self, options: int) -> bool:
        """Take the end of the process, and tell whether it has come."""
        try:
            pid, status, used = os.wait4(self._process.pid, options)
        except ChildProcessError as error:
            self._process.returncode = 1  # its number may be another's by now
            if not self.ended.done():
                lost = LostProcessError("how it ended is unknown: something else waited for it")
                lost.__cause__ = error
                self.ended.set_exception(lost)
            return True
        if not pid:
            return False
        if options:  # it was not known to have ended
            self._signal(signal.SIGKILL)
        self._end(status, used)
        return True

    def _end(self, status: int, used: resource.struct_rusage) -> None:
        self._process.returncode = os.waitstatus_to_exitcode(status)
        if not self.ended.done():
            self.ended.set_result((status, used))

    def _read(self, descriptor: int) -> bool:
        """Hand on what is there and tell whether there was anything."""
        try:
            chunk = os.read(descriptor, _CHUNK)
        except BlockingIOError:
            return False
        if not chunk:
            self._loop.remove_reader(descriptor)
            return False
        try:
            self._pipes[descriptor](chunk)
        except OSError as error:
            if not self.ended.done():
                lost = LostOutputError(str(error))
                lost.__cause__ = error
                self.ended.set_exception(lost)
            return False
        return True

    def _drain(self, descriptor: int) -> None:
        """Read what is left, which a process that left the group may still be adding to."""
        until = time.monotonic() + _DRAIN_S
        while self._read(descriptor) and time.monotonic() < until:
            continue

    def _signal(self, number: int) -> bool:
        """Send a signal to the group; False if it is another user's by now."""
        with contextlib.suppress(ProcessLookupError):  # all of it has ended
            try:
                os.killpg(self._process.pid, number)
            except PermissionError:  # a program with the set-user-ID bit
                return False
        return True
