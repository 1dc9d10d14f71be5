"""One engine a run: a lock on the run's folder that ends with the process, however it ends."""

from __future__ import annotations

import errno
import fcntl
import json
import os
import socket
import time
import typing as t
import weakref
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from couler.errors import RunBusyError, StateError
from couler.state.records import RunRecord, RunStatus

LOCK_NAME = "lock"

ShownStatus: t.TypeAlias = RunStatus | t.Literal["interrupted"]
"""How a run stands, where `interrupted` is one whose engine died."""

_PATIENCE_S = 0.3
"""Longer than `owner_of` holds the lock, which looks to others as if somebody owned the run."""


class Owner(t.NamedTuple):
    """The process that works on a run."""

    pid: int
    host: str


@contextmanager
def own_run(folder: Path) -> Iterator[None]:
    """Own a run while the block lasts; the operating system frees it if the process dies."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
        lock = _Lock(folder / LOCK_NAME)
    except OSError as error:
        raise _unusable(folder, error) from error
    try:
        try:
            is_owned = lock.take()
            if is_owned:
                lock.write_owner()
        except OSError as error:
            raise _unusable(folder, error) from error
        if not is_owned:
            raise _busy(folder, lock.read_owner())
        try:
            yield
        finally:
            lock.erase_owner()
    finally:
        lock.close()


def owner_of(folder: Path) -> Owner | None:
    """Return the process that owns a run now, or None."""
    try:
        lock = _Lock(folder / LOCK_NAME, create=False)
    except (FileNotFoundError, NotADirectoryError):
        return None
    except OSError as error:
        raise _unusable(folder, error) from error
    try:
        return None if lock.try_share() else lock.read_owner()
    except OSError as error:
        raise _unusable(folder, error) from error
    finally:
        lock.close()


def shown_status(run: RunRecord) -> ShownStatus:
    """Return how a run stands: `interrupted` if it is recorded as running and nobody owns it."""
    is_elsewhere = run.target is not None or run.host != socket.gethostname()
    if run.status != "running" or run.folder is None or is_elsewhere:
        return run.status
    return "running" if owner_of(Path(run.folder)) else "interrupted"


_OPEN: weakref.WeakSet[_Lock] = weakref.WeakSet()
"""The locks of this process: the system takes one function for forks, and keeps it for ever."""


def _close_in_child() -> None:
    """Let go of what a child that goes on as a copy of this process would share."""
    for lock in tuple(_OPEN):
        lock.close()


os.register_at_fork(after_in_child=_close_in_child)


class _Lock:
    """A lock file that is open. The lock ends when it is closed, in this process alone."""

    def __init__(self, path: Path, *, create: bool = True) -> None:
        # Python's descriptors are closed in a program that a child executes.
        flags = os.O_RDWR | os.O_CREAT if create else os.O_RDONLY
        self._descriptor: int | None = os.open(path, flags, 0o666)
        _OPEN.add(self)

    @property
    def _file(self) -> int:
        if self._descriptor is None:
            raise OSError(errno.EBADF, "the lock is not held in this process")
        return self._descriptor

    def take(self) -> bool:
        """Try to own; wait for those that only look."""
        until = time.monotonic() + _PATIENCE_S
        while not self._try(fcntl.LOCK_EX):
            if time.monotonic() > until:
                return False
            time.sleep(0.01)
        return True

    def try_share(self) -> bool:
        """Tell whether nobody owns."""
        return self._try(fcntl.LOCK_SH)

    def _try(self, kind: int) -> bool:
        try:
            fcntl.flock(self._file, kind | fcntl.LOCK_NB)
        except BlockingIOError:
            return False
        return True

    def write_owner(self) -> None:
        """Write who owns, for those that ask."""
        self.erase_owner()
        text = json.dumps({"pid": os.getpid(), "host": socket.gethostname()})
        os.pwrite(self._file, text.encode(), 0)

    def erase_owner(self) -> None:
        """Take back what `write_owner` wrote; nothing in a copy of the owning process."""
        if self._descriptor is not None:
            os.ftruncate(self._descriptor, 0)

    def read_owner(self) -> Owner:
        """Read who owns; pid 0 if it has not said so yet."""
        try:
            said = json.loads(os.pread(self._file, 4096, 0))
            return Owner(said["pid"], said["host"])
        except ValueError:
            return Owner(0, socket.gethostname())

    def close(self) -> None:
        """Give the lock back. Unlocking would take it from a parent; closing does not."""
        descriptor, self._descriptor = self._descriptor, None
        if descriptor is not None:
            os.close(descriptor)


def _busy(folder: Path, owner: Owner) -> RunBusyError:
    who = f"process {owner.pid} on {owner.host}" if owner.pid else "another process"
    return RunBusyError(
        f"run {folder.name}: {who} works on it (lock {folder / LOCK_NAME}). "
        f"`couler status {folder.name}` shows how far it is, `couler cancel {folder.name}` ends it"
    )


def _unusable(folder: Path, error: OSError) -> StateError:
    if error.errno in (errno.ENOLCK, errno.ENOSYS, errno.EOPNOTSUPP):
        return StateError(
            f"run {folder.name}: the file system of {folder} has no locks ({error.strerror}). "
            "Set COULER_HOME to a folder on a local disk"
        )
    return StateError(
        f"run {folder.name}: cannot use its lock {folder / LOCK_NAME}: {error.strerror}. "
        "Make the folder writable, or set COULER_HOME to another"
    )
