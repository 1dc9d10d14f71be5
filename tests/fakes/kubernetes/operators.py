"""What works on custom resources in an emulated cluster: a function of the test for each kind."""

from __future__ import annotations

import contextlib
import copy
import threading
import time
from collections.abc import Callable, Mapping

from tests.fakes.kubernetes.selectors import selector
from tests.fakes.kubernetes.store import PODS, ApiError, Json, Resource, Store

_TICK_S = 0.03


class Gone(Exception):  # noqa: N818 - not an error: an operator has nothing left to do
    """The object is deleted, or the cluster closes."""


class Work:
    """An object that an operator works on."""

    def __init__(self, store: Store, resource: Resource, found: Json, closing: threading.Event):
        self.store = store
        self.resource = resource
        self.found = found
        self.name: str = found["metadata"]["name"]
        self.namespace: str = found["metadata"]["namespace"]
        self._closing = closing

    def report(self, status: Json) -> None:
        """Set the status, in whole."""
        try:
            self.store.change(
                self.resource,
                self.namespace,
                self.name,
                lambda found: found.update(status=copy.deepcopy(status)),
            )
        except ApiError as error:
            raise Gone from error

    def pause(self, seconds: float = _TICK_S) -> None:
        """Wait, unless the object is deleted before.

        Raises
        ------
        Gone
            It is.
        """
        limit = time.monotonic() + seconds
        while True:
            if self._closing.is_set():
                raise Gone
            try:
                found = self.store.get(self.resource, self.namespace, self.name)
            except ApiError as error:
                raise Gone from error
            if found["metadata"]["uid"] != self.found["metadata"]["uid"]:
                raise Gone
            left = limit - time.monotonic()
            if left <= 0:
                return
            time.sleep(min(left, _TICK_S))

    def start_pod(self, name: str, template: Json, environment: Mapping[str, str]) -> None:
        """Start a pod that belongs to the object."""
        pod = copy.deepcopy(template)
        metadata = pod.setdefault("metadata", {})
        metadata["name"] = name
        metadata["ownerReferences"] = [
            {
                "apiVersion": self.resource.api_version,
                "kind": self.found["kind"],
                "name": self.name,
                "uid": self.found["metadata"]["uid"],
            }
        ]
        pod["spec"]["restartPolicy"] = "Never"
        variables = [{"name": key, "value": text} for key, text in environment.items()]
        for container in pod["spec"]["containers"]:
            container["env"] = [*(container.get("env") or ()), *variables]
        self.store.create(PODS, self.namespace, pod)

    def phase(self, pod: str) -> str:
        """The phase of a pod; one that is gone has failed."""
        try:
            phase: str = self.store.get(PODS, self.namespace, pod)["status"]["phase"]
        except ApiError:
            return "Failed"
        return phase


Operator = Callable[[Work], None]
"""Works on one object until it is done with it. It runs in a thread of its own."""


class Operators:
    """Gives each object of some kinds to the operator of its kind, until it is closed."""

    def __init__(self, store: Store, operators: Mapping[Resource, Operator]) -> None:
        self.store = store
        self.failures: list[BaseException] = []
        self._closing = threading.Event()
        self._threads = [
            threading.Thread(target=self._watch, args=(resource, operator))
            for resource, operator in operators.items()
        ]

    def __enter__(self) -> Operators:
        for thread in list(self._threads):
            thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._closing.set()
        self.store.close()
        while self._threads:
            self._threads.pop().join()

    def _watch(self, resource: Resource, operator: Operator) -> None:
        workers: list[threading.Thread] = []
        for event in self.store.watch(resource, selector("", "", ""), "0", timeout_s=5):
            if event is None or event[0] != "ADDED":
                continue
            work = Work(self.store, resource, event[1], self._closing)
            thread = threading.Thread(target=self._run, args=(operator, work))
            workers.append(thread)
            thread.start()
        for worker in workers:
            worker.join()

    def _run(self, operator: Operator, work: Work) -> None:
        try:
            with contextlib.suppress(Gone):
                operator(work)
        except Exception as error:
            self.failures.append(error)
            raise


def train(work: Work) -> None:
    """Run a job of Kubeflow's training operator: a pod a replica, and conditions on the job.

    It succeeds when its master (its first worker, if it has none) has succeeded, and fails when a
    replica has failed. Replicas find the master by ``MASTER_ADDR`` on this machine.
    """
    specs = _replicas(work.found["spec"])
    leader = "Master" if "Master" in specs else "Worker"
    ranks = [(kind, number) for kind in sorted(specs) for number in range(_number(specs[kind]))]
    world, names = str(len(ranks)), []
    for rank, (kind, number) in enumerate(ranks):
        names.append(f"{work.name}-{kind.lower()}-{number}")
        environment = {"RANK": str(rank), "WORLD_SIZE": world, "MASTER_ADDR": "127.0.0.1"}
        work.start_pod(names[-1], specs[kind]["template"], environment)
    first = f"{work.name}-{leader.lower()}-0"
    conditions = [_condition("Created"), _condition("Running")]
    while True:
        phases = {name: work.phase(name) for name in names}
        done = {"conditions": conditions, "replicaStatuses": _sums(ranks, names, phases)}
        if "Failed" in phases.values():
            work.report({**done, "conditions": [*conditions, _condition("Failed")]})
            return
        if phases[first] == "Succeeded":
            work.report({**done, "conditions": [*conditions, _condition("Succeeded")]})
            return
        work.report(done)
        work.pause()


def _replicas(spec: Json) -> dict[str, Json]:
    [found] = [value for key, value in spec.items() if key.endswith("ReplicaSpecs")]
    return dict(found)


def _number(replica: Json) -> int:
    return int(replica.get("replicas", 1))


def _condition(kind: str) -> Json:
    return {"type": kind, "status": "True", "reason": f"Job{kind}", "message": ""}


def _sums(ranks: list[tuple[str, int]], names: list[str], phases: Mapping[str, str]) -> Json:
    sums: dict[str, dict[str, int]] = {}
    words = {"Pending": "active", "Running": "active", "Succeeded": "succeeded", "Failed": "failed"}
    for (kind, _), name in zip(ranks, names, strict=True):
        word = words[phases[name]]
        sums.setdefault(kind, {})[word] = sums.get(kind, {}).get(word, 0) + 1
    return sums
