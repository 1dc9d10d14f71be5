"""Answers of something that is neither a cluster nor an Argo Server."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest

from couler.backends.argo.cluster_api import ClusterApi
from couler.backends.argo.reset import Reset
from couler.backends.argo.server_api import ServerApi
from couler.errors import RefusedError
from couler.rest.client import RestClient, RestError
from couler.rest.patience import Patience
from tests.rest.faulty_server import FaultyServer, says

OTHERS: list[object] = [{"status": "ok"}, [], "x", 7, None, {"items": "x", "metadata": 1}]
NAMED = {"metadata": {"name": "w"}}
TEMPLATE = {"apiVersion": "argoproj.io/v1alpha1", "kind": "WorkflowTemplate", **NAMED}

Api = ClusterApi | ServerApi


@pytest.fixture
def client(server: FaultyServer) -> Iterator[RestClient]:
    with RestClient("argo", server.address, extra="argo", patience=Patience(0.0, 0.0, 0.0)) as made:
        yield made


def _put_back(found: object) -> Reset:
    raise AssertionError(f"{found} is no workflow")


CALLS: dict[str, Callable[[Api], object]] = {
    "create": lambda api: api.create(NAMED),
    "get": lambda api: api.get("w"),
    "snapshot": lambda api: api.snapshot("w"),
    "watch": lambda api: list(api.watch("w", "1")),
    "restart": lambda api: api.restart("w", _put_back, is_changed=False),
    "resume": lambda api: api.resume("w", "node", {}),
    "stop": lambda api: api.stop("w"),
    "schedule": lambda api: api.cron_workflow("w"),
    "schedules": lambda api: api.cron_workflows("couler/workflow"),
    "apply": lambda api: api.apply(TEMPLATE),
}


@pytest.mark.parametrize("api", [ClusterApi, ServerApi])
@pytest.mark.parametrize("call", CALLS)
def test_what_no_server_of_argo_answers(
    server: FaultyServer, client: RestClient, api: Callable[[RestClient, str], Api], call: str
) -> None:
    for answer in OTHERS:
        # Lines of an Argo Server that begin otherwise are comments and names of events.
        if (api, call) == (ServerApi, "watch") and not isinstance(answer, dict):
            continue
        server.answers = [says(200, answer)]
        with pytest.raises(RestError, match=r"argo: .*(interface|no JSON|ended: )") as caught:
            CALLS[call](api(client, "ns"))
        assert not isinstance(caught.value, RefusedError)
        assert "\n" not in str(caught.value)


LISTS: list[object] = [
    {"metadata": {"resourceVersion": "1"}, "items": {}},
    {"metadata": {"resourceVersion": "1"}, "items": ["w"]},
    {"metadata": {"resourceVersion": "1"}, "items": [{"metadata": {}}]},
    {"metadata": {}, "items": []},
]


@pytest.mark.parametrize("answer", LISTS, ids=repr)
def test_lists_of_something_else(server: FaultyServer, client: RestClient, answer: object) -> None:
    server.answers = [says(200, answer)]
    with pytest.raises(RestError, match="something else than argo's interface gives"):
        ClusterApi(client, "ns").snapshot("w")


def test_pods_that_are_none(server: FaultyServer, client: RestClient) -> None:
    nothing = Reset({}, frozenset(), (), {})
    ended = {"metadata": {"name": "w", "labels": {"workflows.argoproj.io/completed": "true"}}}
    found = says(200, {**ended, "spec": {}})
    server.answers = [found, found, says(200, {"items": ["pod"]})]
    with pytest.raises(RestError, match=r"GET .*/pods was answered with something else"):
        ClusterApi(client, "ns").restart("w", lambda _: nothing, is_changed=False)
