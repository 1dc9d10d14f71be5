"""Calls of servers over HTTP: limits, credentials by reference, errors that say what to do."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar

_listener: ContextVar[Callable[[str], None] | None] = ContextVar("listener", default=None)


@contextmanager
def listening(tell: Callable[[str], None]) -> Iterator[None]:
    """Let `tell` have what calls say within the block, in this thread."""
    before = _listener.set(tell)
    try:
        yield
    finally:
        _listener.reset(before)


def say(text: str) -> None:
    """Tell who listens; without anybody it is a warning in the log `couler.rest`."""
    tell = _listener.get()
    if tell is None:
        import logging  # which a command that waits for nobody does not need

        logging.getLogger("couler.rest").warning(text)
    else:
        tell(text)
