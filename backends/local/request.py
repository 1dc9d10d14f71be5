"""One HTTP request, which a time limit or a cancel can end."""

from __future__ import annotations

import http.client
import ssl
import typing as t
import urllib.error
import urllib.request
from collections.abc import Mapping

from couler.backends.local.limits import Limits
from couler.backends.local.threads import in_thread
from couler.locations.opener import open_url
from couler.locations.stop import CutOffError, Stop


class Response(t.NamedTuple):
    """The answer to an HTTP request."""

    code: int
    body: bytes
    """At most `keep_bytes` and one more."""
    headers: tuple[tuple[str, str], ...] = ()


class RequestError(Exception):
    """No response came."""


async def send(
    url: str,
    *,
    method: str,
    headers: Mapping[str, str],
    body: bytes | None,
    verify_tls: bool = True,
    limits: Limits,
    keep_bytes: int,
) -> Response | None:
    """Send a request and wait for the response, whatever its code."""
    if not url.lower().startswith(("http://", "https://")):
        raise RequestError(f"{url[:200]!r} is no URL that begins with http:// or https://")

    def receive(_stop: Stop) -> Response:
        request = urllib.request.Request(url, body, dict(headers), method=method)
        return _receive(request, keep_bytes, verify_tls)

    try:
        return await in_thread(receive, limits)
    except CutOffError:
        return None
    except (OSError, ValueError, http.client.HTTPException) as error:
        reason = error.reason if isinstance(error, urllib.error.URLError) else error
        raise RequestError(f"{method} {url}: {reason}") from error


def _receive(request: urllib.request.Request, keep_bytes: int, verify_tls: bool) -> Response:
    context = None if verify_tls else ssl._create_unverified_context()
    try:
        with open_url(request, context=context) as response:
            body = response.read(keep_bytes + 1)
            return Response(response.status, body, tuple(response.getheaders()))
    except urllib.error.HTTPError as error:
        with error:
            body = error.read(keep_bytes + 1)
            return Response(error.code, body, tuple(error.headers.items()))
