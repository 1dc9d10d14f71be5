"""Requests of workflows: HTTP and HTTPS alone, and no secrets for where redirects lead."""

from __future__ import annotations

import http.client
import ssl
import typing as t
import urllib.parse
import urllib.request

_FOR_ANYBODY = frozenset(("accept", "user-agent"))


class _Redirects(urllib.request.HTTPRedirectHandler):
    """Follows redirects; another server gets none of the headers, as they may hold secrets."""

    def redirect_request(
        self,
        req: urllib.request.Request,
        fp: t.IO[bytes],
        code: int,
        msg: str,
        headers: http.client.HTTPMessage,
        newurl: str,
    ) -> urllib.request.Request | None:
        """Return the request that follows a redirect, None for none."""
        following = super().redirect_request(req, fp, code, msg, headers, newurl)
        if following is not None and _server(following.full_url) != _server(req.full_url):
            for name in tuple(following.headers):
                if name.lower() not in _FOR_ANYBODY:
                    following.remove_header(name)
        return following


def open_url(
    request: urllib.request.Request,
    *,
    context: ssl.SSLContext | None = None,
    timeout_s: float | None = None,
) -> http.client.HTTPResponse:
    """Send a request and return the answer."""
    opener = urllib.request.OpenerDirector()
    for handler in (
        urllib.request.ProxyHandler(),
        urllib.request.UnknownHandler(),
        urllib.request.HTTPHandler(),
        urllib.request.HTTPSHandler(context=context),
        urllib.request.HTTPDefaultErrorHandler(),
        _Redirects(),
        urllib.request.HTTPErrorProcessor(),
    ):
        opener.add_handler(handler)
    answer = opener.open(request) if timeout_s is None else opener.open(request, timeout=timeout_s)
    return t.cast(http.client.HTTPResponse, answer)


def _server(url: str) -> tuple[str, str | None, int | None]:
    parts = urllib.parse.urlsplit(url)
    port = parts.port or {"http": 80, "https": 443}.get(parts.scheme)
    return parts.scheme, parts.hostname, port
