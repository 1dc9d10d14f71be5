"""Bounds of an answer on its way: by when all of it has come, and how long it may be."""

from __future__ import annotations

import threading
import typing as t
from collections.abc import Callable, Iterator
from importlib import import_module
from time import monotonic

MOST_BYTES = 8 << 20
"""Of the body of a response. The longest answers of models have about a million characters, which
JSON writes with at most six bytes each."""

_GRACE_S = 0.25
"""So long the client has to tell by itself that it was too late, and in which state."""

_T = t.TypeVar("_T")


class LateError(Exception):
    """The time was over before the answer was whole."""


class UnreadableError(Exception):
    """A body is not read, or not to its end; the text says why."""


class Bounds:
    """Holds what a client does to a time and to a number of bytes."""

    def __init__(self, timeout_s: float) -> None:
        self._timeout_s = timeout_s
        self._call = threading.local()

    def client(self, sdk: t.Any) -> t.Any:
        """Return an HTTP client for an SDK, which stops at bodies that are too long or too late."""
        kind = sdk.DefaultHttpxClient
        modules = (one.__module__.partition(".")[0] for one in kind.__mro__)
        http = import_module(next(one for one in modules if one.startswith("httpx")))
        stream: t.Any = http.SyncByteStream
        bounds = self

        class Bounded(stream):  # type: ignore[misc]  # one of two libraries
            """A body within the bounds."""

            def __init__(self, stream: t.Any) -> None:
                self._stream = stream

            def __iter__(self) -> Iterator[bytes]:
                return bounds.checked(self._stream)

            def close(self) -> None:
                self._stream.close()

        def bound(response: t.Any) -> None:
            coding = response.headers.get("content-encoding", "identity")
            if coding.strip().lower() != "identity":  # a few bytes may become any number of them
                raise UnreadableError(f"its answer is compressed ({coding}), unasked")
            response.stream = Bounded(response.stream)

        return kind(
            timeout=self._timeout_s,
            headers={"Accept-Encoding": "identity"},
            event_hooks={"response": [bound]},
        )

    def checked(self, parts: t.Iterable[bytes]) -> Iterator[bytes]:
        """Yield the parts of a body, as long as it keeps within the bounds."""
        size = 0
        for part in parts:
            size += len(part)
            if size > MOST_BYTES:
                raise UnreadableError(
                    f"its answer is longer than {MOST_BYTES >> 20} MiB, and was not read to its end"
                )
            if monotonic() > self._call.deadline:
                raise LateError
            yield part

    def within(self, call: Callable[[], _T]) -> _T:
        """Return what a call gives, or raise what it raises."""
        given: list[_T] = []
        raised: list[BaseException] = []

        def run() -> None:
            self._call.deadline = monotonic() + self._timeout_s
            try:
                given.append(call())
            except BaseException as error:  # noqa: BLE001  # it is raised in the other thread
                raised.append(error)

        thread = threading.Thread(target=run, name="language-model", daemon=True)
        thread.start()
        thread.join(self._timeout_s + _GRACE_S)
        if given:
            return given[0]
        if raised:
            raise raised[0]
        raise LateError
