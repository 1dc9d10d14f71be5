"""An emulated cluster without a controller, for tests of what is asked of it over HTTP."""

from __future__ import annotations

import threading
import typing as t
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from unittest import mock

from couler.backends.argo import ArgoBackend
from couler.backends.argo.cluster_api import ClusterApi
from couler.backends.argo.remote import ArgoRemote
from couler.backends.base import Target
from couler.backends.remote import Connection, RemoteRun, Submission
from couler.ir.workflow import Workflow
from couler.rest.client import RestClient
from couler.rest.patience import Patience, Waits
from tests.fakes.kubernetes.faults import Faults
from tests.fakes.kubernetes.server import Server, kubeconfig
from tests.fakes.kubernetes.store import WORKFLOWS, Json, Resource, Store

NAMESPACE = "default"
QUICK = Patience(first_s=0.01, cap_s=0.02, total_s=20.0)
PLURALS = {
    "ConfigMap": Resource("", "v1", "configmaps"),
    "CronWorkflow": Resource("argoproj.io", "v1alpha1", "cronworkflows"),
    "Workflow": WORKFLOWS,
    "WorkflowTemplate": Resource("argoproj.io", "v1alpha1", "workflowtemplates"),
}


class EmulatedCluster:
    """A cluster whose Workflows change as tests say."""

    def __init__(self, folder: Path) -> None:
        self.store = Store()
        self.faults = Faults()
        self.server = Server(self.store, faults=self.faults)
        self.kubeconfig = folder / "kubeconfig"
        self.kubeconfig.write_text(kubeconfig(self.server.address))

    def remote(self, **fields: object) -> ArgoRemote:
        """Return Argo on this cluster."""
        given = {"kubeconfig": str(self.kubeconfig), **fields}
        return ArgoBackend().connect(Connection("argo", Target(), given), {})

    def quick_remote(self) -> ArgoRemote:
        """Return Argo on this cluster, over a client that waits next to nothing between calls."""
        return ArgoRemote(self.api())

    def api(self, patience: Patience = QUICK, timeout_s: float = 30.0) -> ClusterApi:
        """Return the Kubernetes API of this cluster."""
        address = f"http://{self.server.address}"
        client = RestClient("argo", address, extra="argo", patience=patience, timeout_s=timeout_s)
        return ClusterApi(client, NAMESPACE)

    def objects(self, kind: str) -> list[Json]:
        """Return all objects of a kind."""
        return self.store.list(PLURALS[kind], lambda _: True)[1]

    def set_status(self, name: str, status: Mapping[str, t.Any]) -> None:
        """Change the status of a Workflow, as a controller does."""

        def change(found: Json) -> None:
            found["status"] = {**found.get("status", {}), **status}

        self.store.change(WORKFLOWS, NAMESPACE, name, change)


@contextmanager
def emulated_cluster(folder: Path) -> Iterator[EmulatedCluster]:
    """Serve a cluster, which has no controller that has to do with pods or must hear of them."""
    cluster = EmulatedCluster(folder)
    busy = mock.patch("couler.backends.argo.cluster_restart.BUSY_S", 0.0)
    hears = mock.patch("couler.backends.argo.cluster_restart.HEARS_S", 0.0)
    template_heard = mock.patch("couler.backends.argo.remote.TEMPLATE_HEARD_S", 0.0)
    with busy, hears, template_heard, cluster.server:
        yield cluster


def submission(
    workflow: Workflow, run_id: str = "run-1", *, target: Target | None = None, **parameters: str
) -> Submission:
    """Return a run that is to be begun."""
    artifact = ArgoBackend().compile(workflow, target or Target(), format="yaml")
    return Submission(run_id, workflow, artifact, parameters)


def submitted(remote: ArgoRemote, workflow: Workflow, run_id: str = "run-1") -> RemoteRun:
    """Begin a run."""
    return RemoteRun(run_id, workflow, remote.submit(submission(workflow, run_id)))


class CountedWaits:
    """Waits that take no time, and are counted."""

    def __init__(self, limit: int = 1000) -> None:
        self.count = 0
        self.limit = limit
        self._lock = threading.Lock()

    def begin(self, patience: Patience) -> Waits:
        """Begin waits that do not wait, until too many of them were."""
        return Waits(patience, sleep=self._wait, clock=lambda: 0.0)

    def _wait(self, _seconds: float) -> None:
        with self._lock:
            self.count += 1
        assert self.count < self.limit, "it waits for ever"
