"""Locks by name that all runs of a machine's user share, for steps with a mutex."""

from __future__ import annotations

import fcntl
import hashlib
import os
from pathlib import Path

from couler.backends.local.writing import explain_writing


class Locks:
    """The locks in a folder, as far as this run holds them.

    The system lets go of them when the process ends, however it ends.

    Parameters
    ----------
    folder
        Made when the first lock is taken.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._held: dict[str, int] = {}

    def take(self, name: str) -> bool:
        """Take a lock if nobody has it, and tell whether it was taken.

        Raises
        ------
        StateError
            Its file cannot be made.
        """
        if name in self._held:
            return False
        file = self._folder / hashlib.sha256(name.encode()).hexdigest()[:32]
        with explain_writing(self._folder, f'make the lock of the mutex "{name}"'):
            self._folder.mkdir(parents=True, exist_ok=True)
            descriptor = os.open(file, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            os.close(descriptor)
            return False
        self._held[name] = descriptor
        return True

    def release(self, name: str) -> None:
        """Let go of a lock that `take` has given."""
        os.close(self._held.pop(name))

    def close(self) -> None:
        """Let go of all; what was to run under them does not run any more."""
        for name in tuple(self._held):
            self.release(name)

    def is_ours(self, name: str) -> bool:
        """Return whether this run holds a lock."""
        return name in self._held
