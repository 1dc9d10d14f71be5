"""An answer takes no longer than it may, and no more memory, whatever a server sends."""

from __future__ import annotations

import gzip
import threading

import pytest

from couler.errors import LanguageModelError
from couler.llm import endpoint
from tests.llm.conftest import PROMPT, World
from tests.llm.raw_server import Handler, Send, Serve, send_completion


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
    with pytest.raises(LanguageModelError, match=r"after 2 attempts: no answer within 0.2 s"):
        model.ask(PROMPT)
    assert server.asked == 2  # of the four repetitions that are allowed, one
    assert len(slept) == 1


def test_threads_of_late_answers_end(world: World, serve: Serve, slept: list[float]) -> None:
    model = world.open(base_url=serve(drip_body).base_url, timeout_s=0.1)
    with pytest.raises(LanguageModelError):
        model.ask(PROMPT)
    for thread in threading.enumerate():
        if thread.name == "language-model":
            thread.join()


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
    with pytest.raises(LanguageModelError, match=r"answer is compressed \(gzip\), unasked"):
        model.ask(PROMPT)
    assert wanted == ["identity"]


def test_an_answer_within_the_bounds(
    world: World, serve: Serve, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(endpoint, "MOST_BYTES", 1000)
    assert world.open(base_url=serve(send_completion("a" * 700)).base_url).ask(PROMPT).text
    model = world.open(base_url=serve(send_completion("a" * 1000)).base_url)
    with pytest.raises(LanguageModelError, match="its answer is longer than"):
        model.ask(PROMPT)
