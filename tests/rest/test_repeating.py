"""What is asked again, what is not, and what is said of a question that was heard already."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from couler.errors import RefusedError
from couler.rest.client import RestClient, RestError, RestRefusedError
from tests.rest.faulty_server import QUICK, Answer, FaultyServer, cut, half, says


@pytest.fixture
def client(server: FaultyServer) -> Iterator[RestClient]:
    with RestClient("argo", server.address, extra="argo", patience=QUICK) as made:
        yield made


@pytest.mark.parametrize(
    ("code", "method", "repeat"),
    [(500, "POST", None), (503, "PATCH", None), (502, "PUT", False), (504, "POST", None)],
)
def test_what_may_not_be_repeated_is_not(
    server: FaultyServer, client: RestClient, code: int, method: str, repeat: bool | None
) -> None:
    server.answers = [says(code, {"message": "gateway"}, Retry_After="0"), says(200, {})]
    with pytest.raises(RestError, match=f"{code}: gateway") as caught:
        client.call(method, "/x", send={}, repeat=repeat)
    assert caught.value.code == code
    assert not isinstance(caught.value, RefusedError)  # it may be done
    assert len(server.asked) == 1


def test_a_fault_that_passes_is_borne_only_by_what_may_be_repeated(server: FaultyServer) -> None:
    client = RestClient(
        "argo", server.address, extra="argo", patience=QUICK, passing=lambda body: b"pass" in body
    )
    with client:
        for code, body, repeat, asked in (
            (500, "it passes", True, 2),
            (500, "it passes", False, 1),
            (500, "it stays", True, 1),
            (501, "it passes", True, 1),
            (409, "it passes", True, 1),
        ):
            server.answers = [says(code, {"message": body}), says(200, 7)]
            before = len(server.asked)
            if asked == 2:
                assert client.call("POST", "/x", send={}, repeat=repeat) == 7
            else:
                with pytest.raises(RestError, match=body):
                    client.call("POST", "/x", send={}, repeat=repeat)
            assert len(server.asked) - before == asked, (code, body, repeat)


def test_a_server_that_takes_nothing_for_now_has_done_nothing(
    server: FaultyServer, client: RestClient
) -> None:
    server.answers = [says(429), says(429), says(200, 7)]
    assert client.call("POST", "/x", send={}) == 7
    server.answers = [says(429), says(403, {"message": "no"})]
    with pytest.raises(RestRefusedError, match="403: no"):
        client.call("POST", "/x", send={}, repeat=True)


def test_what_may_be_repeated_is(server: FaultyServer, client: RestClient) -> None:
    server.answers = [says(502), says(503), says(200, 7)]
    assert client.call("POST", "/x", send={}, repeat=True) == 7
    assert len(server.asked) == 3


@pytest.mark.parametrize(
    ("first", "code"),
    [(cut, 403), (half(b"{"), 404), (says(502), 401), (says(503), 409), (says(504), 422)],
)
def test_a_refusal_after_an_attempt_that_may_have_been_heard_is_no_certain_one(
    server: FaultyServer, client: RestClient, first: Answer, code: int
) -> None:
    server.answers = [first, says(429), says(code, {"message": "quota"})]
    with pytest.raises(RestError, match=rf"{code}: quota.*An earlier attempt may") as caught:
        client.call("POST", "/x", send={}, repeat=True)
    assert caught.value.code == code
    assert not isinstance(caught.value, RefusedError)


@pytest.mark.parametrize("first", [cut, half(b"{"), says(503)])
def test_a_server_that_was_away_knows_nobody_at_first(
    server: FaultyServer, client: RestClient, first: Answer
) -> None:
    server.answers = [first, says(403, {"message": "no"}), says(401), says(200, 7)]
    assert client.call("POST", "/x", send={}, repeat=True) == 7
    server.answers = [says(403, {"message": "no"}), says(200, 7)]
    with pytest.raises(RestRefusedError, match="403: no"):  # it was not away in this call
        client.call("POST", "/x", send={}, repeat=True)


@pytest.mark.parametrize("code", [401, 403])
def test_a_refusal_that_stays_after_a_server_was_away_counts(
    server: FaultyServer, client: RestClient, code: int
) -> None:
    server.answers = [says(503), says(code, {"message": "no"})]
    with pytest.raises(RestRefusedError, match=f"{code}: no"):
        client.call("GET", "/x")
    assert len(server.asked) < 20


@pytest.mark.parametrize("first", [cut, half(b"{"), says(503)])
def test_a_question_that_changes_nothing_is_refused_for_certain(
    server: FaultyServer, client: RestClient, first: Answer
) -> None:
    server.answers = [first, says(403, {"message": "no"})]
    with pytest.raises(RestRefusedError, match="403: no"):
        client.call("GET", "/x")


def test_what_is_gone_after_a_delete_that_was_heard_is_gone(
    server: FaultyServer, client: RestClient
) -> None:
    server.answers = [cut, says(404, {"message": "not found"})]
    assert client.call("DELETE", "/x", absent=(404,)) is None
