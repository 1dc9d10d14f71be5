"""A server on loopback that answers as a test tells it, fault after fault."""

from __future__ import annotations

import json
import threading
import typing as t
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

from couler.rest.patience import Patience
from tests.support.http_server import QuietHandler, serving

QUICK = Patience(first_s=0.001, cap_s=0.01, total_s=30.0)

Answer: t.TypeAlias = Callable[[BaseHTTPRequestHandler], None]


def says(code: int, body: object = None, **headers: str) -> Answer:
    """Answer with a status and JSON; names of headers have `_` for `-`."""

    def answer(handler: BaseHTTPRequestHandler) -> None:
        sent = body if isinstance(body, bytes) else json.dumps(body).encode()
        handler.send_response(code)
        for name, value in headers.items():
            handler.send_header(name.replace("_", "-"), value)
        handler.send_header("Content-Length", str(len(sent)))
        handler.end_headers()
        handler.wfile.write(sent)

    return answer


def half(body: bytes) -> Answer:
    """Promise twice as much as is sent."""

    def answer(handler: BaseHTTPRequestHandler) -> None:
        handler.send_response(200)
        handler.send_header("Content-Length", str(2 * len(body)))
        handler.end_headers()
        handler.wfile.write(body)
        handler.close_connection = True

    return answer


def cut(handler: BaseHTTPRequestHandler) -> None:
    """End the connection without an answer."""
    handler.close_connection = True


class FaultyServer:
    """Gives its answers one after the other, the last one for ever; keeps what it was asked."""

    def __init__(self) -> None:
        self.answers: list[Answer] = [says(200, {})]
        self.asked: list[tuple[str, str, str | None]] = []
        self.bodies: list[t.Any] = []
        """What was sent with each, as JSON; None for nothing."""
        self.raw: list[bytes] = []
        self.release = threading.Event()
        outer = self

        class Handler(QuietHandler):
            protocol_version = "HTTP/1.1"

            def do_GET(self) -> None:  # noqa: N802 - a name of the base class
                size = int(self.headers.get("Content-Length") or 0)
                sent = self.rfile.read(size)
                outer.raw.append(sent)
                outer.bodies.append(json.loads(sent) if sent else None)
                outer.asked.append((self.command, self.path, self.headers.get("Authorization")))
                answer = outer.answers.pop(0) if len(outer.answers) > 1 else outer.answers[0]
                answer(self)

        for method in ("POST", "PUT", "PATCH", "DELETE"):
            setattr(Handler, f"do_{method}", Handler.do_GET)
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.address = f"http://127.0.0.1:{self._server.server_address[1]}"

    def silent(self, handler: BaseHTTPRequestHandler) -> None:
        """Answer only when the test is over."""
        self.release.wait(60)
        handler.close_connection = True

    @contextmanager
    def running(self) -> Iterator[FaultyServer]:
        """Serve until the end of the block."""
        with serving(self._server):
            try:
                yield self
            finally:
                self.release.set()
