"""What was last asked of a server, for those who ask soon after."""

from __future__ import annotations

import threading
import time
import typing as t
from collections.abc import Callable, Hashable, Iterator
from contextlib import contextmanager

T = t.TypeVar("T")


def _any(_value: object) -> bool:
    return True


class Latest(t.Generic[T]):
    """Keeps what was last asked, so that many who ask at about the same time ask once."""

    def __init__(
        self,
        fresh_s: float,
        *,
        lasts: Callable[[T], bool],
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._fresh_s, self._lasts, self._clock = fresh_s, lasts, clock
        self._lock = threading.Lock()
        self._kept: tuple[Hashable, T, float] | None = None

    def of(
        self, key: Hashable, ask: Callable[[T | None], T], suits: Callable[[T], bool] = _any
    ) -> T:
        """Return what is kept, or else ask; several threads ask one after another."""
        with self._lock:
            last: T | None = None
            if self._kept is not None and self._kept[0] == key:
                last, when = self._kept[1:]
                is_fresh = self._lasts(last) or self._clock() - when < self._fresh_s
                if is_fresh and suits(last):
                    return last
            when = self._clock()  # before it is asked: it is not younger than that
            found = ask(last)
            self._kept = key, found, when
            return found

    def note(self, key: Hashable, value: T) -> None:
        """Keep what was asked just now."""
        with self._lock:
            self._kept = key, value, self._clock()

    @contextmanager
    def changing(self) -> Iterator[None]:
        """Ask anew after what is done within, whether that succeeds or not."""
        try:
            yield
        finally:
            with self._lock:
                self._kept = None
