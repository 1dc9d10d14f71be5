"""A server that keeps what is put, takes its time, and counts who it serves at once."""

from __future__ import annotations

import contextlib
import http.server
import threading
from collections.abc import Iterator

from tests.support.http_server import QuietHandler


class Site(http.server.ThreadingHTTPServer):
    """Serves files.

    Attributes
    ----------
    files
        Their contents, by path.
    wait_s
        How long an answer takes, if the site is not closed before.
    put_code
        Answers what is put; a file is kept if that is a success.
    most
        How many requests there have been at the same time, at most.
    """

    daemon_threads = True
    request_queue_size = 64

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.files: dict[str, bytes] = {}
        self.wait_s = 0.0
        self.put_code = 201
        self.asked: list[str] = []
        self.most = 0
        self._closed = threading.Event()
        self._count = 0
        self._lock = threading.Lock()

    def server_close(self) -> None:
        self._closed.set()
        super().server_close()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_port}"

    @contextlib.contextmanager
    def serving(self, what: str) -> Iterator[None]:
        with self._lock:
            self.asked.append(what)
            self._count += 1
            self.most = max(self.most, self._count)
        try:
            self._closed.wait(self.wait_s)
            yield
        finally:
            with self._lock:
                self._count -= 1


class _Handler(QuietHandler):
    server: Site

    def do_GET(self) -> None:  # noqa: N802 - a name of the base class
        with self.server.serving(f"GET {self.path}"):
            content = self.server.files.get(self.path)
            self._answer(404 if content is None else 200, content or b"")

    def do_PUT(self) -> None:  # noqa: N802 - a name of the base class
        with self.server.serving(f"PUT {self.path}"):
            content = self.rfile.read(int(self.headers["Content-Length"] or 0))
            if self.server.put_code < 300:
                self.server.files[self.path] = content
            self._answer(self.server.put_code, b"")

    def _answer(self, code: int, content: bytes) -> None:
        with contextlib.suppress(ConnectionError):  # who asked has gone
            self.send_response(code)
            self.send_header("Content-Length", str(len(content)))
            self.end_headers()
            self.wfile.write(content)
