"""Ending a run by signals."""

from __future__ import annotations

import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager


@contextmanager
def stop_on_signals(current: Callable[[], threading.Event]) -> Iterator[None]:
    """Set an event at the first interrupt or request to end, and give up at the second.

    Signals that something else already handles, and threads other than the main one, are
    left alone.

    Parameters
    ----------
    current
        Gives the event that is to be set now.
    """

    def handle(_number: int, _frame: object) -> None:
        if current().is_set():
            raise KeyboardInterrupt
        current().set()

    before = {}
    if threading.current_thread() is threading.main_thread():
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            if signal.getsignal(number) in (signal.SIG_DFL, signal.default_int_handler):
                before[number] = signal.signal(number, handle)
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
