"""What is said while a call waits for a server."""

from __future__ import annotations

import logging
import re

import pytest

from couler.rest import listening, say
from couler.rest.client import RestClient, RestError
from couler.rest.patience import Patience, Waits
from tests.rest.faulty_server import Answer, FaultyServer, cut, says

QUICK = Patience(first_s=0.001, cap_s=0.001, total_s=0.1)


def asked(answers: list[Answer], patience: Patience = QUICK) -> list[str]:
    server, told = FaultyServer(), list[str]()
    server.answers = answers
    with (
        server.running(),
        RestClient("argo", server.address, extra="argo", patience=patience) as client,
        listening(told.append),
    ):
        try:
            client.call("GET", "/x")
        except RestError:
            told.append("given up")
    return [text.replace(server.address, "ADDRESS") for text in told]


def test_a_server_that_stays_away_is_told_of_once(monkeypatch: pytest.MonkeyPatch) -> None:
    def wait(waits: Waits, _: float | None) -> bool:
        waits.count += 1
        return waits.count < 6

    monkeypatch.setattr("couler.rest.patience.Waits.wait", wait)
    first, last = asked([cut], Patience(total_s=6000.0))
    assert first.startswith("argo: ADDRESS got no answer: ")
    assert re.search(r"; asking again for (6000|5\d\d\d) s$", first)
    assert last == "given up"


def test_a_moment_is_not_told_of() -> None:
    assert asked([says(503), cut, says(200, {})], Patience(0.001, 0.001, 20.0)) == []


def test_a_long_wait_is_told_of_before_it_begins(monkeypatch: pytest.MonkeyPatch) -> None:
    slept: list[float] = []
    monkeypatch.setattr("couler.rest.patience.Waits.wait", lambda _, s: not slept.append(s))
    told = asked([says(429, {"message": "slow down"}, Retry_After="30"), says(200, {})], Patience())
    assert told == ["argo: ADDRESS was answered with 429: slow down; asking again for 60 s"]
    assert slept == [30.0]


def test_a_wait_that_is_too_long_is_none() -> None:
    assert asked([says(429, {}, Retry_After="3600")]) == ["given up"]


def test_without_a_listener_it_is_in_the_log(caplog: pytest.LogCaptureFixture) -> None:
    say("argo is away")
    assert caplog.record_tuples == [("couler.rest", logging.WARNING, "argo is away")]
