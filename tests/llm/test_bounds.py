"""A response ends with an error if it takes too long or is too large, whatever a server sends."""

from __future__ import annotations

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


@pytest.mark.parametrize("send", [drip_body, drip_chunks, drip_error])
def test_a_response_that_never_ends_is_too_late(world: World, serve: Serve, send: Send) -> None:
    model = world.open(base_url=serve(send).base_url, timeout_s=0.2, max_retries=0)
    with pytest.raises(
        LanguageModelError, match=r"no complete answer within 0.2 s\. Raise the set"
    ):
        model.ask(PROMPT)


@pytest.mark.parametrize("status", [200, 500])
def test_a_flood_is_not_read_to_its_end(world: World, serve: Serve, status: int) -> None:
    sent = 0

    def flood(one: Handler) -> None:
        nonlocal sent
        one.begin(status, Content_Length=str(1 << 30))
        while sent < 1 << 30:
            one.wfile.write(b" " * (1 << 20))
            sent += 1 << 20

    model = world.open(base_url=serve(flood).base_url, max_retries=0)
    with pytest.raises(LanguageModelError, match="its answer is longer than 8 MiB"):
        model.ask(PROMPT)
    assert sent < 64 << 20


def test_an_answer_within_the_limit(
    world: World, serve: Serve, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(endpoint, "MAX_BYTES", 1000)
    assert world.open(base_url=serve(send_completion("a" * 700)).base_url).ask(PROMPT).text
    model = world.open(base_url=serve(send_completion("a" * 1000)).base_url, max_retries=0)
    with pytest.raises(LanguageModelError, match="its answer is longer than"):
        model.ask(PROMPT)
