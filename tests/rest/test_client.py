"""A client that meets every fault of a server with one clear error, or by asking again."""

from __future__ import annotations

import socket
from collections.abc import Iterator
from email.utils import formatdate
from pathlib import Path

import pytest
import yaml

from couler.errors import ConfigurationError, RefusedError
from couler.rest import listening
from couler.rest.client import RestClient, RestError
from couler.rest.credentials import Credential
from couler.rest.patience import Patience, Waits
from tests.rest.faulty_server import QUICK, FaultyServer, cut, half, says


@pytest.fixture
def client(server: FaultyServer) -> Iterator[RestClient]:
    with RestClient("argo", server.address, extra="argo", patience=QUICK) as made:
        yield made


def test_an_answer_is_json_or_nothing(server: FaultyServer, client: RestClient) -> None:
    server.answers = [says(200, {"a": [1]}), says(204, b""), says(404, {"message": "gone"})]
    assert client.call("GET", "/x", params={"n": 1, "on": True}) == {"a": [1]}
    assert client.call("POST", "/y", send={"b": "ä"}) is None
    assert client.call("DELETE", "/z", absent=(404,)) is None
    assert [(method, path) for method, path, _ in server.asked] == [
        ("GET", "/x?n=1&on=true"),
        ("POST", "/y"),
        ("DELETE", "/z"),
    ]


@pytest.mark.parametrize(
    ("code", "body", "told"),
    [
        (400, {"message": "bad"}, "was refused with 400: bad"),
        (401, {"detail": "who are you"}, "401: who are you. Give the target a token that is valid"),
        (403, {"message": "no"}, "403: no. The account of the token may not do this"),
        (404, {"code": 5, "message": "not found"}, "404: not found"),
        (409, {"message": "exists"}, "409: exists"),
        (410, {"reason": "Expired"}, "410: Expired"),
        (422, {"detail": [{"loc": ["body", "conf"], "msg": "no map"}]}, "422: body.conf: no map"),
        (302, b"", "302: no reason is given"),
    ],
)
def test_a_refusal_is_told_once_and_not_asked_again(
    server: FaultyServer, client: RestClient, code: int, body: object, told: str
) -> None:
    server.answers = [says(code, body)]
    with pytest.raises(RestError, match=r"argo: GET http://127.0.0.1") as refused:
        client.call("GET", "/x")
    assert told in str(refused.value)
    assert refused.value.code == code
    assert isinstance(refused.value, RefusedError) == (code >= 400)
    assert len(server.asked) == 1


@pytest.mark.parametrize("code", [429, 500, 502, 503, 504])
def test_a_busy_server_is_asked_again(server: FaultyServer, client: RestClient, code: int) -> None:
    server.answers = [says(code, b"busy"), says(code, b"busy"), says(200, 7)]
    assert client.call("GET", "/x") == 7
    assert len(server.asked) == 3


def test_a_question_that_may_have_been_heard_is_not_repeated(
    server: FaultyServer, client: RestClient
) -> None:
    server.answers = [cut, says(200, 7)]
    with pytest.raises(RestError, match=r"POST .* got no answer"):
        client.call("POST", "/x", send={})
    server.answers = [cut, says(200, 7)]
    assert client.call("POST", "/x", send={}, repeat=True) == 7


@pytest.mark.parametrize(
    "reason",
    [
        'pods "a" is forbidden: exceeded quota: two, used: pods=2, limited: pods=2',
        "unable to create new content in namespace ml because it is being terminated",
        'pods "a" is forbidden: violates PodSecurity "restricted:latest": runAsNonRoot != true',
        'admission webhook "images.example.com" denied the request: no image of that registry',
    ],
)
def test_403_is_not_always_a_right_that_is_missing(
    server: FaultyServer, client: RestClient, reason: str
) -> None:
    server.answers = [says(403, {"message": reason})]
    with pytest.raises(RefusedError) as refused:
        client.call("POST", "/x", send={})
    assert str(refused.value).endswith(reason)


def test_warnings_of_the_server_are_shown_once(server: FaultyServer, client: RestClient) -> None:
    joined = (
        '299 - "unknown field \\"spec.a\\"", 299 - "old, and gone in \\"2\\"" "Sat, 25 Aug 2012"'
    )
    first, second = says(200, {}, Warning=joined), says(200, {}, Warning='299 k "other"')
    server.answers = [first, first, second, says(200, {}, Warning="no form")]
    told: list[str] = []
    with listening(told.append):
        for _ in range(4):
            client.call("POST", "/x", send={})
    texts = ['unknown field "spec.a"', 'old, and gone in "2"', "other", "no form"]
    assert told == [f"argo: {text}" for text in texts]


def test_what_is_sent_is_yaml_as_well(server: FaultyServer, client: RestClient) -> None:
    sent = {"a": "del \x7f \x85 \u2028 \uffff ä \U0001f600"}
    client.call("POST", "/x", send=sent)
    assert server.bodies[-1] == sent
    assert yaml.safe_load(server.raw[-1]) == sent


def test_what_is_no_json_is_said(server: FaultyServer, client: RestClient) -> None:
    server.answers = [says(200, b"<html>a page</html>")]
    with pytest.raises(RestError, match=r"no JSON. Is this the address of the server's interface"):
        client.call("GET", "/x")


def test_a_server_that_is_silent_is_given_up(server: FaultyServer) -> None:
    server.answers = [server.silent]
    client = RestClient(
        "argo", server.address, extra="argo", timeout_s=0.2, patience=Patience(0.0, 0.0, 0.0)
    )
    with client, pytest.raises(RestError, match=r"got no answer: .*timed out"):
        client.call("GET", "/x")


def test_a_server_that_trickles_is_given_up(server: FaultyServer) -> None:
    def trickle(handler: object) -> None:
        says_nothing = server.release
        write = handler.wfile.write  # type: ignore[attr-defined]  # a handler of requests
        handler.send_response(200)  # type: ignore[attr-defined]
        handler.send_header("Content-Length", "1000000")  # type: ignore[attr-defined]
        handler.end_headers()  # type: ignore[attr-defined]
        try:
            while not says_nothing.wait(0.02):
                write(b" ")
        except OSError:  # the client has gone, as it should
            handler.close_connection = True  # type: ignore[attr-defined]

    server.answers = [trickle]
    client = RestClient(
        "argo", server.address, extra="argo", timeout_s=0.3, patience=Patience(0.0, 0.0, 0.0)
    )
    with client, pytest.raises(RestError, match=r"no whole answer in 0.3 s|timed out"):
        client.call("GET", "/x")


def test_a_server_that_is_away_is_waited_for_and_then_named() -> None:
    with socket.socket() as reserved:  # bound, and nobody listens
        reserved.bind(("127.0.0.1", 0))
        address = f"http://127.0.0.1:{reserved.getsockname()[1]}"
        patience = Patience(first_s=0.01, cap_s=0.02, total_s=0.1)
        with (
            RestClient("airflow", address, extra="airflow-client", patience=patience) as client,
            pytest.raises(RestError, match=rf"airflow: POST {address}/x got no answer: .*refused"),
        ):
            client.call("POST", "/x", send={})


def test_a_token_that_ended_is_read_again_once(server: FaultyServer, tmp_path: Path) -> None:
    file = tmp_path / "token"
    file.write_text("old")
    token = Credential("the token", {"file": str(file)}, {})
    with RestClient("argo", server.address, extra="argo", token=token) as client:
        server.answers = [says(200, 1), says(401, {}), says(200, 2), says(401, {})]
        assert client.call("GET", "/x") == 1
        file.write_text("new")
        assert client.call("POST", "/x") == 2
        with pytest.raises(RestError) as refused:
            client.call("GET", "/x")
    assert [told for _, _, told in server.asked] == [
        "Bearer old",
        "Bearer old",
        "Bearer new",
        "Bearer new",
        "Bearer new",
    ]
    assert "new" not in str(refused.value)


def test_lines_are_asked_for_with_a_new_token_once(server: FaultyServer, tmp_path: Path) -> None:
    file = tmp_path / "token"
    file.write_text("old")
    token = Credential("the token", {"file": str(file)}, {})
    with RestClient("argo", server.address, extra="argo", token=token) as client:
        client.call("GET", "/x")
        file.write_text("new")
        server.answers = [says(401, {}), says(200, b"one\ntwo"), says(401, {"message": "expired"})]
        assert list(client.lines("/log")) == ["one", "two"]
        with pytest.raises(RestError, match="401: expired") as refused:
            list(client.lines("/log"))
    assert "new" not in str(refused.value)
    told = [authorization for _, _, authorization in server.asked]
    assert told == ["Bearer old", "Bearer old", "Bearer new", "Bearer new", "Bearer new"]


def test_no_other_token_after_an_attempt_that_may_have_been_heard(
    server: FaultyServer, tmp_path: Path
) -> None:
    """That there is no token is told as such only where nothing was asked for."""
    file = tmp_path / "token"
    file.write_text("old")
    token = Credential("the token", {"file": str(file)}, {})
    with RestClient("argo", server.address, extra="argo", token=token, patience=QUICK) as client:
        client.call("GET", "/x")
        file.unlink()
        server.answers = [cut, says(401, {})]
        with pytest.raises(RestError, match=r"POST .*earlier attempt.*cannot be read") as caught:
            client.call("POST", "/x", send={}, repeat=True)
        assert not isinstance(caught.value, RefusedError)
        with pytest.raises(ConfigurationError, match="cannot be read"):
            client.call("POST", "/x", send={}, repeat=True)


def test_lines_that_break_off_are_an_error_after_what_came(
    server: FaultyServer, client: RestClient
) -> None:
    server.answers = [half(b"one\ntwo\nth")]
    lines = client.lines("/log")
    assert [next(lines), next(lines)] == ["one", "two"]
    with pytest.raises(RestError) as broken:
        next(lines)
    assert broken.value.code is None
    server.answers = [says(404, {"message": "no such pod"})]
    with pytest.raises(RestError, match=r"404: no such pod"):
        list(client.lines("/log"))
    assert list(client.lines("/log", absent=(404,))) == []


@pytest.mark.parametrize(
    "address",
    ["", "argo.example", "ftp://argo.example", "http://", "http://a:x/", "http://a/?q=1"],
)
def test_what_is_no_address_is_refused(address: str) -> None:
    with pytest.raises(ConfigurationError, match=r"is no address such as https://argo.example"):
        RestClient("argo", address, extra="argo")


def test_an_address_has_no_password() -> None:
    with pytest.raises(ConfigurationError, match=r"must not have a user") as refused:
        RestClient("argo", "https://me:s3cr3t@argo.example", extra="argo")
    assert "s3cr3t" not in str(refused.value)


def test_certificates_must_be_there(tmp_path: Path) -> None:
    with pytest.raises(ConfigurationError, match=r"certificates .* cannot be read"):
        RestClient("argo", "https://argo.example", extra="argo", ca=str(tmp_path / "none.pem"))


def test_waits_grow_to_a_cap_and_end() -> None:
    now, slept = [0.0], []

    def sleep(seconds: float) -> None:
        slept.append(seconds)
        now[0] += seconds

    patience = Patience(first_s=1.0, cap_s=4.0, total_s=20.0)
    waits = Waits(patience, clock=lambda: now[0], sleep=sleep, draw=lambda: 1.0)
    while waits.wait():
        assert len(slept) < 50
    assert slept == [1, 2, 4, 4, 4, 4]
    assert waits.count == 6


def test_what_the_server_asks_counts_more(server: FaultyServer) -> None:
    slept: list[float] = []
    waits = Waits(Patience(total_s=100), clock=lambda: 0.0, sleep=slept.append)
    assert waits.wait(30.0)
    assert not waits.wait(101.0)
    assert slept == [30.0]
    server.answers = [says(429, {"message": "slow down"}, Retry_After="3600"), says(200, 1)]
    for after in ("3600", formatdate(4e9, usegmt=True)):
        server.answers[0] = says(429, {"message": "slow down"}, Retry_After=after)
        client = RestClient("argo", server.address, extra="argo", patience=QUICK)
        with client, pytest.raises(RestError, match=r"429: slow down"):
            client.call("GET", "/x")
        server.answers.insert(0, says(429))
