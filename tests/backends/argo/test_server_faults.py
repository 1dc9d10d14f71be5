"""What goes wrong on the way to an Argo Server ends in one clear message, and can be repeated."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest

from couler.backends.argo.remote import ArgoRemote
from couler.backends.argo.server_api import ServerApi
from couler.backends.remote import RemoteRun
from couler.errors import EngineError
from couler.ir.walk import StepPath
from couler.rest.client import RestClient
from couler.rest.credentials import Credential
from couler.rest.patience import Patience
from tests.backends.argo.test_server import names
from tests.fakes.argo.faults import Fault
from tests.fakes.argo.server import ArgoServer
from tests.support.argo_recordings import CHAIN, chain, recorded, submission

TOKEN = "s3cret-of-the-server"


@pytest.fixture
def server() -> Iterator[ArgoServer]:
    with ArgoServer(token=TOKEN) as server:
        yield server


def connected(server: ArgoServer, token: str = TOKEN, **options: float) -> ArgoRemote:
    client = RestClient(
        "argo",
        server.address,
        extra="argo",
        token=Credential("the token", {"env": "T"}, {"T": token}),
        patience=Patience(first_s=0.01, cap_s=0.05, total_s=0.3),
        timeout_s=options.get("timeout_s", 20.0),
    )
    return ArgoRemote(ServerApi(client, "default"))


@pytest.fixture
def remote(server: ArgoServer) -> ArgoRemote:
    return connected(server)


@pytest.fixture
def run(server: ArgoServer, remote: ArgoRemote) -> RemoteRun:
    workflow = chain()
    run = RemoteRun(CHAIN, workflow, remote.submit(submission(workflow, CHAIN)))
    server.service.play(CHAIN, recorded("chain")[3])
    return run


VERBS: dict[str, Callable[[ArgoRemote, RemoteRun], object]] = {
    "submit": lambda remote, run: remote.submit(submission(run.workflow, "another")),
    "observe": lambda remote, run: remote.observe(run),
    "logs": lambda remote, run: list(remote.logs(run, StepPath.parse("first"))),
    "cancel": lambda remote, run: remote.cancel(run),
    "delete": lambda remote, run: remote.delete(run),
    "pause": lambda remote, run: remote.pause({"name": "nightly"}),
}

REFUSALS = {
    401: "was refused with 401: refused by the test. Give the target a token that is valid",
    403: "was refused with 403: refused by the test. The account of the token may not do this",
    409: "409|has a Workflow another already",
    410: "was refused with 410: refused by the test",
    422: "refused by the test|was refused: refused by the test",
    429: "was refused with 429: refused by the test",
    500: "was refused with 500: refused by the test",
    503: "was refused with 503: refused by the test",
}


@pytest.mark.parametrize("verb", VERBS)
@pytest.mark.parametrize("code", REFUSALS)
def test_refusals(
    server: ArgoServer, remote: ArgoRemote, run: RemoteRun, verb: str, code: int
) -> None:
    server.faults.add(Fault("/api/v1/", code=code, retry_after="3600" if code == 429 else None))
    with pytest.raises(EngineError, match=REFUSALS[code]) as caught:
        VERBS[verb](remote, run)
    message = str(caught.value)
    assert message.startswith("argo: ")
    assert "\n" not in message
    assert TOKEN not in message


@pytest.mark.parametrize("verb", VERBS)
@pytest.mark.parametrize("cut", ["before", "after", "within"])
def test_connections_that_end(
    server: ArgoServer, remote: ArgoRemote, run: RemoteRun, verb: str, cut: str
) -> None:
    server.faults.add(Fault("/api/v1/", cut=cut))  # type: ignore[arg-type]  # a literal
    with pytest.raises(EngineError, match="got no answer") as caught:
        VERBS[verb](remote, run)
    assert "\n" not in str(caught.value)


def test_to_delete_over_a_bad_line_is_to_delete(
    server: ArgoServer, remote: ArgoRemote, run: RemoteRun
) -> None:
    server.faults.add(Fault("/workflows/", "DELETE", cut="after", times=1))
    remote.delete(run)
    assert names(server) == []


def test_a_token_that_is_not_taken(server: ArgoServer, run: RemoteRun) -> None:
    with pytest.raises(EngineError, match="token not valid for running mode") as caught:
        connected(server, token="wr0ng").observe(run)
    assert "wr0ng" not in str(caught.value)


@pytest.mark.parametrize(
    "fault",
    [
        Fault("/workflows/", "POST", times=1, cut="before"),
        Fault("/workflows/", "POST", times=1, cut="after"),
        Fault("/workflows/", "POST", times=1, cut="within"),
        Fault("/workflows/", "POST", times=1, code=429, retry_after="0"),
        Fault("/workflows/", "POST", times=1, code=503),
    ],
    ids=["cut before", "cut after", "half a body", "429", "503"],
)
def test_to_submit_over_a_bad_line_is_to_submit_once(
    server: ArgoServer, remote: ArgoRemote, fault: Fault
) -> None:
    server.faults.add(fault)
    one = submission(chain(), CHAIN)
    place = remote.submit(one)
    assert remote.submit(one) == place
    assert names(server) == [CHAIN]
