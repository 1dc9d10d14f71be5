"""Ending a run by signals."""

from __future__ import annotations

import asyncio
import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager


class Interrupts:
    """Hands signals on to an event loop, which a signal alone does not wake."""

    def __init__(self) -> None:
        self._hand_on: Callable[[], object] | None = None

    def ring(self) -> None:
        """There was a signal; before the loop runs, there is nothing to end gently."""
        if self._hand_on is None:
            raise KeyboardInterrupt
        self._hand_on()

    def bind(self, loop: asyncio.AbstractEventLoop, interrupt: Callable[[], None]) -> None:
        """Have a function called in a loop for each signal."""
        self._hand_on = lambda: loop.call_soon_threadsafe(interrupt)

    def unbind(self) -> None:
        """Let later signals have no effect: the loop ends."""
        self._hand_on = lambda: None


@contextmanager
def listen() -> Iterator[Interrupts]:
    """Take signals for a run; entered first, so that its end is written down undisturbed."""
    interrupts = Interrupts()
    with call_on_signals(interrupts.ring), _told_of_children():
        yield interrupts


@contextmanager
def _told_of_children() -> Iterator[None]:
    """Undo an inherited order to let ended processes vanish, with which none tells how it ended."""
    is_main = threading.current_thread() is threading.main_thread()
    if not is_main or signal.getsignal(signal.SIGCHLD) is not signal.SIG_IGN:
        yield
        return
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    try:
        yield
    finally:
        signal.signal(signal.SIGCHLD, signal.SIG_IGN)


SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


@contextmanager
def call_on_signals(interrupt: Callable[[], None]) -> Iterator[None]:
    """Call a function at each interrupt or request to end, in the main thread.

    Signals that something else already handles, and threads other than the main one, are
    left alone; except that an `asyncio.run` around hands an interrupt only to a loop that does
    not go on while the run does. Entered before `asyncio.run`, which handles interrupts in a way
    of its own where nobody else does.
    """

    def handle(_number: int, _frame: object) -> None:
        interrupt()

    before = {}
    if threading.current_thread() is threading.main_thread():
        for number in SIGNALS:
            handler = signal.getsignal(number)
            if handler in (signal.SIG_DFL, signal.default_int_handler) or _is_asyncio(handler):
                before[number] = signal.signal(number, handle)
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def _is_asyncio(handler: object) -> bool:
    """Return whether a handler of interrupts is that of `asyncio.run`."""
    function = getattr(handler, "func", None)  # a partial of a method
    return isinstance(getattr(function, "__self__", None), asyncio.Runner)
