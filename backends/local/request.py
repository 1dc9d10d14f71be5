"""One HTTP request, which a time limit or a stop can end."""

from __future__ import annotations

import http.client
import threading
import time
import typing as t
import urllib.error
import urllib.request
from collections.abc import Mapping

_POLL_S = 0.05


class Response(t.NamedTuple):
    """What came back."""

    code: int
    body: bytes
    """At most `keep_bytes` and one more."""


class RequestError(Exception):
    """No response came."""


def send(
    url: str,
    *,
    method: str,
    headers: Mapping[str, str],
    body: str | None,
    deadline: float | None,
    stop: threading.Event,
    keep_bytes: int,
) -> Response:
    """Send a request and wait for the response, whatever its code.

    Parameters
    ----------
    url
        Of the schemes http and https.
    method, headers, body
        The request; a body is sent as UTF-8.
    deadline
        When to give up, as `time.monotonic()` tells it; None for never.
    stop
        Set from elsewhere to give up.
    keep_bytes
        How much of the response's body to keep; one byte more tells that there was more.

    Raises
    ------
    RequestError
        No response came, or the URL is none.
    TimeoutError
        The deadline has passed.
    InterruptedError
        It was stopped.
    """
    if not url.lower().startswith(("http://", "https://")):
        raise RequestError(f"{url[:200]!r} is no URL that begins with http:// or https://")
    data = None if body is None else body.encode()
    outcome: list[Response | RequestError] = []

    def work() -> None:
        try:
            request = urllib.request.Request(url, data, dict(headers), method=method)
            outcome.append(_receive(request, keep_bytes))
        except (OSError, ValueError, http.client.HTTPException) as error:
            reason = error.reason if isinstance(error, urllib.error.URLError) else error
            outcome.append(RequestError(f"{method} {url}: {reason}"))

    # In a thread, as a connection cannot be told to give up at a moment of ours.
    thread = threading.Thread(target=work, daemon=True)
    thread.start()
    while thread.is_alive():
        if stop.is_set():
            raise InterruptedError
        if deadline is not None and time.monotonic() >= deadline:
            raise TimeoutError
        thread.join(_POLL_S)
    result = outcome[0]
    if isinstance(result, RequestError):
        raise result
    return result


def _receive(request: urllib.request.Request, keep_bytes: int) -> Response:
    try:
        with urllib.request.urlopen(request) as response:
            return Response(response.status, response.read(keep_bytes + 1))
    except urllib.error.HTTPError as error:
        with error:
            return Response(error.code, error.read(keep_bytes + 1))
