"""An answer takes no longer than it may, and no more memory, whatever a server sends."""

from __future__ import annotations

import gzip
import json
import threading
import typing as t
from collections.abc import Callable, Iterator
from contextlib import suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from time import monotonic

import pytest

from couler.errors import LanguageModelError
from couler.llm import bounds
from tests.llm.conftest import PROMPT, World

Send: t.TypeAlias = Callable[["Handler"], None]

OK = json.dumps({"choices": [{"message": {"content": "fine"}, "finish_reason": "stop"}]}).encode()


class Handler(BaseHTTPRequestHandler):
    """Sends whatever a test wants, until the client has gone."""

    protocol_version = "HTTP/1.1"
    server: Server

    def log_message(self, format: str, *args: object) -> None:
        """Write nothing."""

    def do_POST(self) -> None:
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


@pytest.fixture
def serve() -> Iterator[Callable[[Send], Server]]:
    started: list[Server] = []

    def start(send: Send) -> Server:
        server = Server(send)
        loop = {"poll_interval": 0.02}
        threading.Thread(target=server.serve_forever, kwargs=loop, daemon=True).start()
        started.append(server)
        return server

    yield start
    for one in started:
        one.closed.set()
        one.shutdown()
        one.server_close()


Serve: t.TypeAlias = Callable[[Send], Server]


def drip_body(one: Handler) -> None:
    one.begin(Content_Length="100000")
    one.drip(b" ")


def drip_chunks(one: Handler) -> None:
    one.begin(Transfer_Encoding="chunked")
    one.drip(b"1\r\n \r\n")


def drip_error(one: Handler) -> None:
    one.begin(500, Content_Length="100000")
    one.drip(b" ")


def drip_headers(one: Handler) -> None:
    one.wfile.write(b"HTTP/1.1 200 OK\r\nX-Long: ")
    one.drip(b"a")


@pytest.mark.parametrize("send", [drip_body, drip_chunks, drip_error, drip_headers])
def test_an_answer_that_comes_a_byte_at_a_time_is_too_late(
    world: World, serve: Serve, slept: list[float], send: Send
) -> None:
    server = serve(send)
    model = world.open(base_url=server.base_url, timeout_s=0.2)
    began = monotonic()
    with pytest.raises(LanguageModelError, match=r"after 2 attempts: no answer within 0.2 s"):
        model.ask(PROMPT)
    assert monotonic() - began < 5
    assert server.asked == 2  # of the four repetitions that are allowed, one
    assert len(slept) == 1


def test_threads_of_late_answers_end(world: World, serve: Serve, slept: list[float]) -> None:
    model = world.open(base_url=serve(drip_body).base_url, timeout_s=0.1)
    with pytest.raises(LanguageModelError):
        model.ask(PROMPT)
    for thread in threading.enumerate():
        if thread.name == "language-model":
            thread.join(5)
            assert not thread.is_alive()


@pytest.mark.parametrize("status", [200, 500])
def test_a_flood_is_not_read_to_its_end(
    world: World, serve: Serve, slept: list[float], status: int
) -> None:
    sent = 0

    def flood(one: Handler) -> None:
        nonlocal sent
        one.begin(status, Content_Length=str(1 << 30))
        while sent < 1 << 30:
            one.wfile.write(b" " * (1 << 20))
            sent += 1 << 20

    server = serve(flood)
    model = world.open(base_url=server.base_url)
    with pytest.raises(LanguageModelError) as caught:
        model.ask(PROMPT)
    assert "its answer is longer than 8 MiB, and was not read to its end" in str(caught.value)
    assert server.asked == 1
    assert slept == []
    assert sent < 64 << 20


def test_a_bomb_is_not_unpacked(world: World, serve: Serve) -> None:
    wanted: list[str | None] = []
    bomb = gzip.compress(b" " * 1_000_000)

    def send(one: Handler) -> None:
        wanted.append(one.headers["Accept-Encoding"])
        one.begin(Content_Length=str(len(bomb)), Content_Encoding="gzip")
        one.wfile.write(bomb)

    model = world.open(base_url=serve(send).base_url)
    with pytest.raises(LanguageModelError, match=r"answer is compressed \(gzip\), which nobody"):
        model.ask(PROMPT)
    assert wanted == ["identity"]


def test_an_answer_within_the_bounds(
    world: World, serve: Serve, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(bounds, "MOST_BYTES", len(OK))

    def send(one: Handler) -> None:
        one.begin(Content_Length=str(len(OK)))
        one.wfile.write(OK)

    assert world.open(base_url=serve(send).base_url).ask(PROMPT).text == "fine"
