"""Ending a run by signals."""

from __future__ import annotations

import asyncio
import os
import signal
import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress


class Interrupts:
    """Hands signals on to an event loop."""

    def __init__(self, received: socket.socket) -> None:
        self.numbers: frozenset[int] = frozenset()
        self.woken = -1
        self._received = received
        self._loop: asyncio.AbstractEventLoop | None = None
        self._interrupt: Callable[[], None] = lambda: None

    def hear(self) -> None:
        """Answer to a signal in the main thread: before the loop runs, nothing can end gently."""
        if self._loop is None:
            raise KeyboardInterrupt

    def ring(self) -> None:
        """Interrupt without a signal."""
        if self._loop is None:
            raise KeyboardInterrupt
        self._loop.call_soon_threadsafe(self._interrupt)

    def bind(self, loop: asyncio.AbstractEventLoop, interrupt: Callable[[], None]) -> None:
        """Have a function called in a loop for each signal."""
        self._loop, self._interrupt = loop, interrupt
        loop.add_reader(self._received, self.read)

    def unbind(self) -> None:
        """Let later signals have no effect: the loop ends."""
        if self._loop is not None:
            self._loop.remove_reader(self._received)
        self._interrupt = lambda: None

    def read(self) -> None:
        """Interrupt for each signal that has come since; the loop does so when one comes."""
        with suppress(BlockingIOError):  # there is none
            for number in self._received.recv(4096):
                if number in self.numbers:
                    self._interrupt()
                elif self.woken >= 0:
                    os.write(self.woken, bytes([number]))


@contextmanager
def listen() -> Iterator[Interrupts]:
    """Take signals for a run; entered first, so that its end is written down undisturbed."""
    received, sent = socket.socketpair()
    with received, sent:
        received.setblocking(False)
        sent.setblocking(False)
        interrupts = Interrupts(received)
        with _told_of_children(), _take_signals(interrupts, sent):
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
def _take_signals(interrupts: Interrupts, sent: socket.socket) -> Iterator[None]:
    """Hand on each interrupt and each request to end."""
    before = {}
    if threading.current_thread() is threading.main_thread():
        for number in SIGNALS:
            handler = signal.getsignal(number)
            if handler in (signal.SIG_DFL, signal.default_int_handler) or _is_asyncio(handler):
                before[number] = handler
    if not before:
        yield
        return
    interrupts.numbers = frozenset(before)
    interrupts.woken = signal.set_wakeup_fd(sent.fileno(), warn_on_full_buffer=False)
    for number in before:
        signal.signal(number, lambda _number, _frame: interrupts.hear())
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
        signal.set_wakeup_fd(interrupts.woken)
        interrupts.read()


def _is_asyncio(handler: object) -> bool:
    """Return whether a handler of interrupts is that of `asyncio.run`."""
    function = getattr(handler, "func", None)  # a partial of a method
    return isinstance(getattr(function, "__self__", None), asyncio.Runner)
