"""Answers that are checked, and answers that are damaged."""

from __future__ import annotations

import gzip
from collections.abc import Iterator

import pytest

from couler.rest.client import RestClient, RestError
from couler.rest.patience import Patience
from tests.rest.faulty_server import QUICK, FaultyServer, says


@pytest.fixture
def client(server: FaultyServer) -> Iterator[RestClient]:
    with RestClient("argo", server.address, extra="argo", patience=Patience(0.0, 0.0, 0.0)) as made:
        yield made


def test_an_answer_is_checked_where_that_is_asked_for(
    server: FaultyServer, client: RestClient
) -> None:
    server.answers = [says(200, {"a": {"b": 1}})]
    assert client.call("GET", "/x", expect={"a.b": int}) == {"a": {"b": 1}}
    with pytest.raises(RestError, match="something else than argo's interface gives") as caught:
        client.call("GET", "/x", expect={"a.b": str})
    assert (caught.value.code, caught.value.reason) == (None, "the answer lacks a.b")
    server.answers = [says(204, b"")]
    with pytest.raises(RestError, match="something else than argo's interface gives"):
        client.call("GET", "/x", expect={})


def test_what_cannot_be_decompressed_is_no_answer(server: FaultyServer, client: RestClient) -> None:
    damaged = says(200, b"not gzip at all", Content_Encoding="gzip")
    server.answers = [damaged]
    with pytest.raises(RestError, match=r"GET .* got no answer: ") as caught:
        client.call("GET", "/x")
    assert caught.value.code is None
    with pytest.raises(RestError, match=r"GET .* got no answer: "):
        list(client.lines("/x"))
    patient = RestClient("argo", server.address, extra="argo", patience=QUICK)
    server.answers = [damaged, says(200, gzip.compress(b'{"a": 1}'), Content_Encoding="gzip")]
    with patient:
        assert patient.call("GET", "/x") == {"a": 1}
