"""A server that sends any bytes, where the scripted one is too well behaved."""

from __future__ import annotations

import json
import threading
import typing as t
from collections.abc import Callable
from contextlib import suppress
from http.server import ThreadingHTTPServer

from tests.support.http_server import QuietHandler

Send: t.TypeAlias = Callable[["Handler"], None]


class Handler(QuietHandler):
    """Sends whatever a test wants, until the client has gone."""

    protocol_version = "HTTP/1.1"
    server: Server

    def do_POST(self) -> None:  # noqa: N802 - a name of the base class
        """Take a request, and send."""
        self.rfile.read(int(self.headers["Content-Length"]))
        self.server.asked += 1
        self.close_connection = True
        with suppress(OSError):
            self.server.send(self)

    def begin(self, status: int = 200, **headers: str) -> None:
        """Send what is before the body."""
        self.send_response(status)
        for name, value in headers.items():
            self.send_header(name.replace("_", "-"), value)
        self.end_headers()

    def drip(self, part: bytes) -> None:
        """Send a part every now and then, for ever."""
        while not self.server.closed.wait(0.02):
            self.wfile.write(part)
            self.wfile.flush()


class Server(ThreadingHTTPServer):
    """Counts what it was asked."""

    daemon_threads = True

    def __init__(self, send: Send) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.send = send
        self.asked = 0
        self.closed = threading.Event()

    @property
    def base_url(self) -> str:
        return f"http://127.0.0.1:{self.server_address[1]}/v1"


Serve: t.TypeAlias = Callable[[Send], Server]


def send_completion(content: str) -> Send:
    """Return what answers with a text; JSON escapes all of it that is not ASCII."""
    choice = {"message": {"content": content}, "finish_reason": "stop"}
    usage = {"prompt_tokens": 3, "completion_tokens": 2}
    body = json.dumps({"choices": [choice], "model": "raw", "usage": usage}).encode()

    def send(one: Handler) -> None:
        one.begin(Content_Length=str(len(body)))
        one.wfile.write(body)

    return send
