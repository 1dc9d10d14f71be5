"""Work in threads that nobody waits for beyond its limits."""

from __future__ import annotations

import asyncio
import contextlib
import threading
import typing as t
from collections.abc import Callable, Iterator

from couler.backends.local.limits import Limits

T = t.TypeVar("T")


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
        """Give up if nobody waits any more.

        Raises
        ------
        CutOffError
            This is set.
        """
        if self._is_set:
            raise CutOffError

    @contextlib.contextmanager
    def telling(self, tell: Callable[[], object]) -> Iterator[None]:
        """Have a function called, in whichever thread, if this is set before the block ends.

        It must return soon.
        """
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


async def in_thread(work: Callable[[Stop], T], limits: Limits) -> T:
    """Do work in a thread of its own and return what it gives.

    When the limits end, nobody waits for it any more, which its argument tells. A thread that
    waits for another machine cannot give up at once: it ends with the process of the engine.

    Raises
    ------
    CutOffError
        The limits ended before.
    Exception
        What the work raises.
    """
    loop = asyncio.get_running_loop()
    done: asyncio.Future[T] = loop.create_future()
    stop = Stop()

    def tell(give: Callable[[], None]) -> None:
        if not done.done():
            give()

    def run() -> None:
        try:
            result = work(stop)
        except BaseException as error:  # noqa: BLE001  # handed on to the one who waits
            failure = error
            give = lambda: done.set_exception(failure)  # noqa: E731
        else:
            give = lambda: done.set_result(result)  # noqa: E731
        with contextlib.suppress(RuntimeError):  # the run has ended meanwhile, and the loop with it
            loop.call_soon_threadsafe(tell, give)

    forget = limits.on_end(lambda: tell(lambda: done.set_exception(CutOffError())))
    if not done.done():
        threading.Thread(target=run, daemon=True).start()
    try:
        return await done
    finally:
        forget()
        stop.set()
