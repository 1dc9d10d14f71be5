"""What HTTP servers of tests have in common."""

from __future__ import annotations

import contextlib
import socket
import threading
import typing as t
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer, ThreadingHTTPServer

Served = t.TypeVar("Served", bound=HTTPServer)


class QuietHandler(BaseHTTPRequestHandler):
    """Logs nothing; that a client has gone is no error."""

    disable_nagle_algorithm = True  # else a body after its headers waits 40 ms for the client

    def handle(self) -> None:
        with contextlib.suppress(ConnectionError):
            super().handle()

    def log_message(self, format: str, *args: object) -> None:
        pass


class ConnectedServer(ThreadingHTTPServer):
    """Knows its connections, which it can end."""

    daemon_threads = False
    request_queue_size = 128

    def __init__(self, *args: t.Any) -> None:
        self._open: set[socket.socket] = set()
        super().__init__(*args)

    def process_request(self, request: t.Any, address: t.Any) -> None:
        self._open.add(request)
        super().process_request(request, address)

    def shutdown_request(self, request: t.Any) -> None:
        self._open.discard(request)
        super().shutdown_request(request)

    def hang_up(self) -> None:
        """End the connections that clients keep open."""
        for request in list(self._open):
            with contextlib.suppress(OSError):
                request.shutdown(socket.SHUT_RDWR)

    def handle_error(self, request: object, client_address: object) -> None:
        """A client that went away in the middle is no error; anything else goes to the thread."""
        raise


@contextlib.contextmanager
def serving(server: Served) -> Iterator[Served]:
    """Serve during a block."""
    with server:
        thread = threading.Thread(target=server.serve_forever, args=(0.02,), daemon=True)
        thread.start()
        try:
            yield server
        finally:
            server.shutdown()
            thread.join()
