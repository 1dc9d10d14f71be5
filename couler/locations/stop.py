"""Telling work that may take long that nobody waits for it any more."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Callable, Iterator


class CutOffError(Exception):
    """The limits ended first."""


class Stop:
    """Tells work in a thread that nobody waits for it any more."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._is_set = False
        self._to_tell: dict[object, Callable[[], object]] = {}

    def set(self) -> None:
        """Tell it; this may be called more than once."""
        with self._lock:  # meanwhile no block ends, so that who is told is still there
            self._is_set = True
            for tell in self._to_tell.values():
                tell()

    def check(self) -> None:
        """Give up if nobody waits any more."""
        if self._is_set:
            raise CutOffError

    @contextlib.contextmanager
    def telling(self, tell: Callable[[], object]) -> Iterator[None]:
        """Have a function called, in whichever thread, if this is set before the block ends."""
        key = object()
        with self._lock:
            self._to_tell[key] = tell
            if self._is_set:
                tell()
        try:
            yield
        finally:
            with self._lock:
                del self._to_tell[key]
