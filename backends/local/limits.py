"""What can end work early: a cancel, and time limits inside of each other."""

from __future__ import annotations

import asyncio
import time
import typing as t
from collections.abc import Callable

from couler.ir.semantics.status import CANCELLED

OUT_OF_TIME = "it did not end within its time limit"


class Limits:
    """A time limit and a cancel, which hold for everything inside as well."""

    __slots__ = ("_deadline", "_inside", "_outer", "_timer", "reached")

    def __init__(self, outer: Limits | None = None, seconds: float | None = None) -> None:
        self.reached: str | None = None if outer is None else outer.reached
        self._outer = outer
        self._inside: dict[object, Callable[[str], None]] = {}
        self._deadline: float | None = None if outer is None else outer._deadline
        self._timer: asyncio.TimerHandle | None = None
        if outer is not None:
            outer._inside[self] = self.end
        if seconds is not None:
            end = time.monotonic() + seconds
            self._deadline = end if self._deadline is None else min(end, self._deadline)
            self._timer = asyncio.get_running_loop().call_later(seconds, self.end, OUT_OF_TIME)

    def __enter__(self) -> t.Self:
        return self

    def __exit__(self, *_error: object) -> None:
        if self._timer is not None:
            self._timer.cancel()
        if self._outer is not None:
            self._outer._inside.pop(self, None)

    def within(self, seconds: float | None) -> Limits:
        """Return limits inside of these, with an end of their own some seconds from now."""
        return Limits(self, seconds)

    def end(self, reason: str) -> None:
        """End everything inside; only the first reason counts."""
        if self.reached is None:
            self.reached = reason
            for tell in tuple(self._inside.values()):
                tell(reason)

    def on_end(self, tell: Callable[[], None]) -> Callable[[], None]:
        """Have a function called once at the end, at once if that has been; return the way out."""
        if self.reached is not None:
            tell()
            return _do_nothing
        key = object()
        self._inside[key] = lambda _reason: tell()

        def forget() -> None:
            self._inside.pop(key, None)

        return forget

    async def pause(self, seconds: float) -> None:
        """Wait, but not beyond the end."""
        loop = asyncio.get_running_loop()
        woken = asyncio.Event()
        forget = self.on_end(woken.set)
        timer = loop.call_later(seconds, woken.set)
        try:
            await woken.wait()
        finally:
            timer.cancel()
            forget()


def too_late(limits: Limits) -> str:
    """Return in words why a step does not start any more."""
    return CANCELLED if limits.reached == CANCELLED else "the time limit around it had ended"


def _do_nothing() -> None:
    """There is nothing to take back."""
