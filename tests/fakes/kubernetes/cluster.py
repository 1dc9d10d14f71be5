"""A cluster of Kubernetes for tests: an API on 127.0.0.1, pods as processes of this machine."""

from __future__ import annotations

import base64
import contextlib
import sys
import threading
import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.fakes.kubernetes import jobs
from tests.fakes.kubernetes.checks import check_pod
from tests.fakes.kubernetes.container import Node
from tests.fakes.kubernetes.faults import Faults, PodFault, RequestFault
from tests.fakes.kubernetes.images import Images
from tests.fakes.kubernetes.jobs import JobController
from tests.fakes.kubernetes.kubelet import Kubelet
from tests.fakes.kubernetes.operators import Operator, Operators
from tests.fakes.kubernetes.server import Server, kubeconfig
from tests.fakes.kubernetes.store import (
    CONFIG_MAPS,
    JOBS,
    PODS,
    SECRETS,
    ApiError,
    Json,
    Resource,
    Store,
)
from tests.fakes.kubernetes.tools import hidden_folders, make_tools

NAMESPACE = "default"
_LIFETIME_S = 7200.0
"""Longer than all tests of a module take on a slow machine: some modules have one cluster."""
_QUOTA = 500


@dataclass(frozen=True)
class ContainerRecord:
    """A container that has been started, after the kubelet's rules."""

    name: str
    command: tuple[str, ...]
    args: tuple[str, ...]
    env: Mapping[str, str]
    exit_code: int | None
    stdout: str
    stderr: str


@dataclass(frozen=True)
class PodRecord:
    """A pod that there was, whether or not it still is in the API."""

    name: str
    labels: Mapping[str, str]
    found: Json
    """The object as it was sent, with the name and the metadata that it was given."""
    containers: tuple[ContainerRecord, ...]
    stuck: str
    """Why it could not start, if so."""

    def container(self, name: str) -> ContainerRecord:
        return next(one for one in self.containers if one.name == name)


class FakeCluster:
    """A cluster that lives in a ``with`` statement, and at most `lifetime_s` seconds.

    Parameters
    ----------
    work_dir
        A folder for the files of pods.
    python
        The interpreter that containers find as ``python`` and ``python3``.
    operators
        The kinds of custom resources that there are, each with what works on its objects.
    faults
        What goes wrong.
    images
        What can be pulled.
    grace_s
        The longest time that a container gets to end after a request.
    job_delay_s
        How long a job waits for its first pods, by its name.
    quota
        The most pods in its life.
    """

    def __init__(
        self,
        work_dir: Path,
        *,
        python: str = sys.executable,
        operators: Mapping[Resource, Operator] | None = None,
        faults: Iterable[RequestFault | PodFault] = (),
        images: Images | None = None,
        shared: Iterable[Path] = (),
        max_pods: int = 24,
        grace_s: float = 2.0,
        job_delay_s: Callable[[str], float] = lambda name: 0.0,
        quota: int = _QUOTA,
        lifetime_s: float = _LIFETIME_S,
    ) -> None:
        work_dir.mkdir(parents=True, exist_ok=True)
        self.work_dir = work_dir
        self._quota = quota
        self.store = Store()
        self.faults = Faults(*faults)
        self.server = Server(
            self.store,
            {PODS: self._first_status_of_pod, JOBS: jobs.first_status},
            kinds=operators or {},
            faults=self.faults,
        )
        self.kubeconfig = work_dir / "kubeconfig"
        self.kubeconfig.write_text(kubeconfig(self.server.address))
        node = Node(
            store=self.store,
            tools=make_tools(work_dir / "tools", python),
            kubeconfig=self.kubeconfig,
            visible=hidden_folders(python),
            shared=tuple(shared),
            images=images or Images(),
            max_pods=max_pods,
            grace_s=grace_s,
        )
        self.kubelet = Kubelet(node, work_dir / "pods", self.faults)
        self.server.run_on(self.kubelet)
        self.jobs = JobController(self.store, delay_s=job_delay_s)
        self.operators = Operators(self.store, operators or {})
        self._running = contextlib.ExitStack()
        self._closing = threading.Lock()
        self._timer = threading.Timer(lifetime_s, self.close)
        self._timer.daemon = True

    def __enter__(self) -> FakeCluster:
        for part in (self.server, self.kubelet, self.jobs, self.operators):
            self._running.enter_context(part)
        self._timer.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._timer.cancel()
        self.close()
        failures = [*self.jobs.failures, *self.operators.failures]
        if failures:
            raise RuntimeError("the emulated cluster has failed") from failures[0]

    def close(self) -> None:
        """End all that runs."""
        with self._closing:
            self._running.close()

    def create(self, resource: Resource, found: Json) -> Json:
        return self.store.create(resource, NAMESPACE, found)

    def secret(self, name: str, entries: Mapping[str, str]) -> None:
        encoded = {key: base64.b64encode(text.encode()).decode() for key, text in entries.items()}
        self.create(SECRETS, {"metadata": {"name": name}, "data": encoded})

    def config_map(self, name: str, entries: Mapping[str, str]) -> None:
        self.create(CONFIG_MAPS, {"metadata": {"name": name}, "data": dict(entries)})

    def objects(self, resource: Resource) -> list[Json]:
        """The objects of a kind that are there now."""
        return self.store.list(resource, lambda found: True)[1]

    def claim(self, name: str) -> Path:
        """The folder that a persistent volume claim is."""
        return self.work_dir / "pods" / "claims" / name

    def pods(self) -> list[PodRecord]:
        """All pods that there were, in the order in which they came."""
        return [
            PodRecord(
                name=pod.name,
                labels=pod.found["metadata"].get("labels") or {},
                found=pod.found,
                stuck=pod.stuck,
                containers=tuple(
                    ContainerRecord(
                        name=one.name,
                        command=tuple(one.command),
                        args=tuple(one.args),
                        env=one.env,
                        exit_code=one.exit_code,
                        stdout=one.output("stdout"),
                        stderr=one.output("stderr"),
                    )
                    for one in list(pod.containers)
                ),
            )
            for pod in list(self.kubelet.pods)
        ]

    def wait(self, resource: Resource, name: str, field: str, *wanted: Any, limit_s: float) -> Json:
        """Wait until a field of the status of an object has one of some values."""
        limit = time.monotonic() + limit_s
        while True:
            status = self.store.get(resource, NAMESPACE, name).get("status") or {}
            if status.get(field) in wanted:
                return status
            if time.monotonic() > limit:
                raise TimeoutError(f"{field} of {resource.plural} {name} is not {wanted}: {status}")
            time.sleep(0.02)

    def _first_status_of_pod(self, sent: Json) -> Json:
        if len(self.kubelet.pods) >= self._quota:
            what = f"exceeded quota: {self._quota} pods in the life of a test"
            raise ApiError(403, "Forbidden", what)
        check_pod(sent)
        return {}
