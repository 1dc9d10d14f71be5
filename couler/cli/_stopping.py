"""A request to end (SIGTERM) ends a command that watches as an interrupt does, in its own words."""

from __future__ import annotations

import signal
import threading
import typing as t
from collections.abc import Iterator
from contextlib import contextmanager


class RequestToEnd(KeyboardInterrupt):  # it is as little an error as its base
    """The process was told to end."""


@contextmanager
def heeding_requests_to_end() -> Iterator[None]:
    """Raise `RequestToEnd` where the process is told to end; a second request ends it at once."""
    is_free = (
        threading.current_thread() is threading.main_thread()
        and signal.getsignal(signal.SIGTERM) == signal.SIG_DFL
    )
    if not is_free:
        yield
        return

    def hear(_number: int, _frame: object) -> t.NoReturn:
        signal.signal(signal.SIGTERM, signal.SIG_DFL)
        raise RequestToEnd

    signal.signal(signal.SIGTERM, hear)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, signal.SIG_DFL)
