"""A cluster with a run that has failed, and a clock for waits."""

from __future__ import annotations

import copy
import typing as t
from collections.abc import Callable, Iterator

import pytest

from couler.backends.argo.cluster_api import ClusterApi
from couler.backends.argo.remote import ArgoRemote
from couler.backends.argo.reset import pod_name
from couler.backends.argo.workflow_api import COMPLETED_LABEL
from couler.backends.remote import RemoteRun, Restart
from couler.rest.client import RestClient
from couler.rest.patience import Patience
from tests.fakes.kubernetes.faults import Faults
from tests.fakes.kubernetes.server import Server
from tests.fakes.kubernetes.store import PODS, WORKFLOWS, Resource, Store
from tests.support.argo_recordings import AGAIN, CHAIN, chain, recorded, submission

RESULTS = Resource("argoproj.io", "v1alpha1", "workflowtaskresults")
OF_RUN = {"workflows.argoproj.io/workflow": CHAIN}


class Place:
    """A cluster with a run that has failed, its pods among others."""

    def __init__(self) -> None:
        self.store = Store()
        self.faults = Faults()
        self.server = Server(self.store, faults=self.faults)

    def fill(self) -> None:
        workflow = chain()
        one = submission(workflow, CHAIN)
        self.remote.submit(one)
        self.run = RemoteRun(CHAIN, workflow, {"name": CHAIN})
        self.wanted = Restart(workflow, one.artifact, {}, AGAIN)

        self.end()
        for node in self.workflow["status"]["nodes"].values():
            if node["type"] == "Pod":
                self.pod(pod_name(CHAIN, node), {**OF_RUN, COMPLETED_LABEL: "false"})
                result = {"metadata": {"name": node["id"], "labels": OF_RUN}}
                self.store.create(RESULTS, "default", result)
        self.pod("of-others", {})

    def end(self) -> None:
        def end(found: t.Any) -> None:
            found["status"] = copy.deepcopy(recorded("chain")[-1])
            found["metadata"]["labels"]["workflows.argoproj.io/completed"] = "true"

        self.store.change(WORKFLOWS, "default", CHAIN, end)

    def pod(self, name: str, labels: dict[str, str]) -> None:
        metadata = {"name": name, "labels": labels}
        self.store.create(PODS, "default", {"metadata": metadata, "spec": {"containers": []}})

    def patient(self, patience: Patience) -> ArgoRemote:
        address = f"http://{self.server.address}"
        client = RestClient("argo", address, extra="argo", patience=patience)
        return ArgoRemote(ClusterApi(client, "default"))

    @property
    def client(self) -> RestClient:
        address = f"http://{self.server.address}"
        return RestClient("argo", address, extra="argo", patience=Patience(0.0, 0.0, 0.0))

    @property
    def remote(self) -> ArgoRemote:
        return ArgoRemote(self.api)

    @property
    def api(self) -> ClusterApi:
        return ClusterApi(self.client, "default")

    @property
    def workflow(self) -> t.Any:
        return self.store.get(WORKFLOWS, "default", CHAIN)

    def names(self, resource: Resource) -> set[str]:
        return {one["metadata"]["name"] for one in self.store.list(resource, lambda _: True)[1]}

    def restart(self) -> None:
        self.remote.restart(self.run, self.wanted)


class Clock:
    """Sleeps at once, tells for how long it would have, and does something after a sleep."""

    def __init__(self) -> None:
        self.slept: list[float] = []
        self.then: Callable[[float], object] = lambda _: None

    def sleep(self, seconds: float) -> None:
        self.slept.append(seconds)
        assert len(self.slept) < 1000, "it waits for ever"
        self.then(sum(self.slept))

    def monotonic(self) -> float:
        return sum(self.slept)


@pytest.fixture(autouse=True)
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    """The clock of restarts."""
    clock = Clock()
    monkeypatch.setattr("couler.backends.argo.cluster_restart.time", clock)
    return clock


@pytest.fixture
def place() -> Iterator[Place]:
    place = Place()
    with place.server:
        place.fill()
        yield place
