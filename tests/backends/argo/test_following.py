"""Following a Workflow over connections that break, on an emulated cluster."""

from __future__ import annotations

import typing as t
from collections.abc import Iterator
from pathlib import Path

import pytest

from couler.backends.argo.cluster_api import ClusterApi
from couler.backends.argo.following import changes
from couler.errors import LostRunError
from couler.rest.client import RestClient, RestError
from couler.rest.credentials import Credential
from couler.rest.patience import Patience
from tests.corpus.build import flow, sh
from tests.fakes.kubernetes.faults import RequestFault
from tests.fakes.kubernetes.store import WORKFLOWS
from tests.support.argo_cluster import (
    CountedWaits,
    EmulatedCluster,
    emulated_cluster,
    submitted,
)

PLAIN = flow("plain", sh("say", "true"))
PHASES = ["Pending", "Running", "Running", "Succeeded"]


@pytest.fixture
def cluster(tmp_path: Path) -> Iterator[EmulatedCluster]:
    with emulated_cluster(tmp_path) as found:
        submitted(found.quick_remote(), PLAIN)
        yield found


class Followed:
    """What somebody sees who follows a Workflow; after each look it changes once more."""

    def __init__(self, cluster: EmulatedCluster, limit: int = 1000) -> None:
        self.waits = CountedWaits(limit)
        self._cluster = cluster
        self.seen: list[str] = []

    def run(self, api: t.Any = None, *, phases: t.Sequence[str] = PHASES) -> list[str]:
        left = list(phases)
        api = api or self._cluster.api()
        for number, workflow in enumerate(changes(api, "run-1", begin=self.waits.begin)):
            self.seen.append((workflow.get("status") or {}).get("progress", "none"))
            if left:
                self._cluster.set_status("run-1", {"phase": left.pop(0), "progress": str(number)})
        return self.seen


def test_all_changes_are_told_until_the_end(cluster: EmulatedCluster) -> None:
    followed = Followed(cluster)
    assert followed.run() == ["none", "0", "1", "2", "3"]
    assert followed.waits.count == 0
    assert Followed(cluster).run(phases=[]) == ["3"]  # one look at what has ended is enough


@pytest.mark.parametrize("after", [0, 1, 2])
def test_a_stream_that_is_cut_is_taken_up_where_it_broke(
    cluster: EmulatedCluster, after: int
) -> None:
    cluster.faults.add(RequestFault("GET", "/workflows", watch=True, cut="within", after=after))
    assert Followed(cluster).run() == ["none", "0", "1", "2", "3"]  # nothing twice


def test_a_version_that_is_too_old_is_followed_by_a_new_look(cluster: EmulatedCluster) -> None:
    for fault in (
        RequestFault("GET", "/workflows", watch=True, code=410, times=1),
        RequestFault("GET", "/workflows", watch=True, code=410, after=1, times=1),
    ):
        cluster.faults.add(fault)
    assert Followed(cluster).run()[-1] == "3"


def test_a_server_that_stays_away_is_told_of(cluster: EmulatedCluster) -> None:
    cluster.faults.add(RequestFault("GET", "/workflows", cut="before"))
    with pytest.raises(RestError, match="got no answer"):
        list(
            changes(
                cluster.api(Patience(0.0, 0.0, 0.0)), "run-1", away=Patience(0.001, 0.001, 0.05)
            )
        )


def test_what_is_refused_is_told_of_at_once(cluster: EmulatedCluster) -> None:
    cluster.faults.add(RequestFault("GET", "/workflows", code=401, message="expired"))
    with pytest.raises(RestError, match="refused with 401: expired"):
        Followed(cluster, limit=1).run()


@pytest.mark.parametrize("code", [401, 403])
def test_a_server_that_has_just_started_is_asked_again(cluster: EmulatedCluster, code: int) -> None:
    """For some seconds it denies what it has answered before."""
    following = changes(cluster.api(), "run-1", begin=CountedWaits().begin)
    next(following)
    cluster.faults.add(RequestFault("GET", "/workflows", code=code, times=3))
    cluster.set_status("run-1", {"phase": "Succeeded"})
    assert [one["status"]["phase"] for one in following] == ["Succeeded"]


@pytest.mark.parametrize("watch", [True, False])
def test_a_token_that_ends_is_renewed(
    cluster: EmulatedCluster, tmp_path: Path, watch: bool
) -> None:
    """Tokens of an hour end while a run of a day is followed."""
    file = tmp_path / "token"
    file.write_text("first")
    token = Credential("the token", {"file": str(file)}, {})
    cluster.faults.add(RequestFault("GET", "/workflows", watch=watch, code=401, times=1))
    address = f"http://{cluster.server.address}"
    with RestClient("argo", address, extra="argo", token=token) as client:
        followed = Followed(cluster, limit=1)
        assert followed.run(ClusterApi(client, "default")) == ["none", "0", "1", "2", "3"]


def test_a_workflow_that_is_deleted_is_lost(cluster: EmulatedCluster) -> None:
    followed = changes(cluster.api(), "run-1")
    next(followed)
    cluster.store.delete(WORKFLOWS, "default", "run-1")
    with pytest.raises(LostRunError, match="it was deleted there"):
        next(followed)


def test_changes_that_the_server_has_forgotten_are_followed_by_a_new_look(
    cluster: EmulatedCluster,
) -> None:
    cluster.faults.add(RequestFault("GET", "/workflows", watch=True, cut="within", after=1))
    set_status = cluster.set_status

    def forget(name: str, status: t.Mapping[str, t.Any]) -> None:
        set_status(name, status)
        cluster.store.compact()

    cluster.set_status = forget  # type: ignore[method-assign]  # all but the last is forgotten
    assert Followed(cluster).run()[-1] == "3"
