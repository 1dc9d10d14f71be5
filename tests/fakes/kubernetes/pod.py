"""One pod: its containers from the start to the end, and what the kubelet says of them."""

from __future__ import annotations

import contextlib
import shutil
import threading
import time
from collections.abc import Callable
from pathlib import Path

from tests.fakes.kubernetes.container import NODE_NAME, Container, Node, now
from tests.fakes.kubernetes.faults import PodFault
from tests.fakes.kubernetes.images import ConfigError, PullError
from tests.fakes.kubernetes.store import EVENTS, PODS, ApiError, Json
from tests.fakes.kubernetes.volumes import make_volume

TICK_S = 0.02
_COMPONENT = "workflows.argoproj.io/component"


class _GoneError(Exception):
    """The pod is deleted, or the kubelet closes."""


class Pod:
    """A pod and the containers of it that have started."""

    def __init__(
        self,
        node: Node,
        found: Json,
        folder: Path,
        closing: threading.Event,
        fault: PodFault | None = None,
    ) -> None:
        self.node = node
        self.found = found
        self.name: str = found["metadata"]["name"]
        self.uid: str = found["metadata"]["uid"]
        self.namespace: str = found["metadata"]["namespace"]
        self.claims = folder / "claims"
        self.folder = folder / f"{self.name}-{self.uid[:8]}"
        self.containers: list[Container] = []
        self.stuck = ""
        self._waiting = "PodInitializing"
        self._fault = fault or PodFault()
        self._closing = closing
        self._started = time.monotonic()
        self._killing_at: float | None = None
        self._cause: dict[str, str] = {}
        self._seen: list[int | None] = []
        self._events = 0
        self._spec: Json = found["spec"]
        self._inits: list[Json] = self._spec.get("initContainers") or []
        self._helpers = {one["name"] for one in self._inits if one.get("restartPolicy") == "Always"}

    def run(self) -> None:
        """Run the pod to its end, or until it is deleted or the kubelet closes."""
        self._started = time.monotonic()
        try:
            self._schedule()
            self._started = time.monotonic()
            self._report("Pending", startTime=now())
            self._run_containers()
            self._finish()
        except ConfigError as error:
            self._wait_stuck(error)
        except _GoneError:
            pass
        except ApiError as error:
            if error.code != 404:  # else the pod has been deleted
                raise
        finally:
            for container in self.containers:
                container.kill()
            shutil.rmtree(self.folder / "volumes", ignore_errors=True)
            self._forget()

    def gone(self) -> bool:
        """Whether the pod is deleted or is to be."""
        try:
            found = self.node.store.get(PODS, self.namespace, self.name)
        except ApiError:
            return True
        metadata = found["metadata"]
        return metadata["uid"] != self.uid or "deletionTimestamp" in metadata

    def _schedule(self) -> None:
        if self._fault.unschedulable:
            self._report("Pending", scheduled=False)
            self._event("Warning", "FailedScheduling", "0/1 nodes are available")
            self._wait(lambda: False)
        limit = time.monotonic() + self._fault.pending_s
        self._wait(lambda: time.monotonic() >= limit)
        self._event("Normal", "Scheduled", f"Successfully assigned {self.name} to {NODE_NAME}")

    def _run_containers(self) -> None:
        is_agent = self.found["metadata"].get("labels", {}).get(_COMPONENT) == "agent"
        if self._spec.get("restartPolicy") != "Never" and not is_agent:
            raise ConfigError("not emulated: a pod whose containers are started again")
        kept = self.folder / "volumes"
        volumes = {
            one["name"]: make_volume(
                self.node.store,
                self.namespace,
                one,
                kept / str(one["name"]),
                self.claims,
                self.found["metadata"],
            )
            for one in self._spec.get("volumes") or ()
        }
        for each in self._inits:
            container = self._start(each, volumes)
            if container.name in self._helpers:
                self._follow(container.begun)
                continue
            self._follow(container.poll)
            if container.exit_code != 0:
                return
        specs = self._spec["containers"]
        late = [each for each in specs if each["name"] == self.node.late]
        started = [self._start(each, volumes) for each in specs if each not in late]
        self._follow(lambda: all(one.begun() for one in started))
        self._report("Running")
        if late:
            deadline_s = self._spec.get("activeDeadlineSeconds", 2 * self.node.late_s)
            limit = time.monotonic() + min(self.node.late_s, deadline_s / 2)
            mains = [one for one in started if one.name == "main"] or started
            self._follow(lambda: time.monotonic() > limit or all(one.poll() for one in mains))
            # After others that told how they ended it ends by itself, and what it is about to tell
            # must not be lost. Of those that could not start or were killed it knows nothing.
            ends_itself = all(one.returned() for one in mains)
            started += [self._start(each, volumes, ends_itself=ends_itself) for each in late]
            self._follow(lambda: all(one.begun() for one in started))
            self._report("Running")
        self._follow(lambda: all(one.poll() for one in started))
        for container in self.containers:
            container.terminate()
        limit = time.monotonic() + self._grace_s()
        self._follow(lambda: time.monotonic() > limit or all(o.poll() for o in self.containers))
        for container in self.containers:
            container.kill()

    def _start(
        self, spec: Json, volumes: dict[str, Path], *, ends_itself: bool = False
    ) -> Container:
        folder = self.folder / spec["name"]
        container = Container(self.node, self.found, spec, volumes, folder, ends_itself=ends_itself)
        self.containers.append(container)
        self._event("Normal", "Started", f"Started container {spec['name']}")
        return container

    def _wait(self, done: Callable[[], bool]) -> None:
        """Wait for something while no container runs."""
        while not done():
            if self._closing.is_set() or self.gone():
                raise _GoneError
            time.sleep(TICK_S)

    def _wait_stuck(self, error: ConfigError) -> None:
        self.stuck = str(error)
        pulls = isinstance(error, PullError)
        self._waiting = "ImagePullBackOff" if pulls else "CreateContainerConfigError"
        try:
            self._event("Warning", "Failed", self.stuck)
            self._report("Pending")
            self._wait(lambda: False)
        except (_GoneError, ApiError):
            pass

    def _follow(self, done: Callable[[], bool]) -> None:
        """Wait for something, and end the pod when its time is over or it is deleted."""
        while not done():
            time.sleep(TICK_S)
            if self._closing.is_set():
                raise _GoneError
            for container in self.containers:
                container.poll()
            codes = [one.exit_code for one in self.containers]
            if codes != self._seen:
                self._seen = codes
                self._report(self._phase())
            if self._killing_at is None:
                if self._must_end():
                    self._killing_at = time.monotonic() + self._grace_s()
                    for container in self.containers:
                        container.terminate()
            elif time.monotonic() >= self._killing_at:
                for container in self.containers:
                    container.kill()

    def _must_end(self) -> bool:
        age_s = time.monotonic() - self._started
        deadline_s, fault = self._spec.get("activeDeadlineSeconds"), self._fault
        if deadline_s is not None and age_s >= deadline_s:
            message = "Pod was active on the node longer than the specified deadline"
            self._cause = {"reason": "DeadlineExceeded", "message": message}
        elif fault.once_there is not None and not fault.once_there.exists():
            return self.gone()
        elif fault.evict_after_s is not None and age_s >= fault.evict_after_s:
            self._cause = {"reason": "Evicted", "message": "The node was low on resource: memory."}
            self._event("Warning", "Evicted", self._cause["message"])
        elif fault.vanish_after_s is not None and age_s >= fault.vanish_after_s:
            self.node.store.remove(PODS, self.namespace, self.name)
            raise _GoneError
        elif fault.out_of_memory_after_s is not None and age_s >= fault.out_of_memory_after_s:
            for container in self.containers[len(self._inits) :][:1]:
                container.kill(reason="OOMKilled")
        return bool(self._cause) or self.gone()

    def _grace_s(self) -> float:
        if self._cause.get("reason") == "Evicted":
            return 0.0
        found = self.node.store.get(PODS, self.namespace, self.name)
        asked = found["metadata"].get("deletionGracePeriodSeconds")
        if asked is None:
            asked = self._spec.get("terminationGracePeriodSeconds")
        return min(30.0 if asked is None else float(asked), self.node.grace_s)

    def _phase(self) -> str:
        return "Running" if len(self.containers) > len(self._inits) else "Pending"

    def _finish(self) -> None:
        planned = len(self._spec["containers"]) + len(self._inits)
        well = all(each.exit_code == 0 or each.name in self._helpers for each in self.containers)
        succeeded = well and len(self.containers) == planned and not self._cause
        self._report("Succeeded" if succeeded else "Failed", **self._cause)

    def _forget(self) -> None:
        """Take the pod out of the store if its end was all that it was kept for."""
        if not self._closing.is_set() and self.gone():
            with contextlib.suppress(ApiError):
                self.node.store.ended(PODS, self.namespace, self.name, self.uid)

    def _report(self, phase: str, *, scheduled: bool = True, **more: str) -> None:
        statuses = {each.name: each.status() for each in list(self.containers)}
        inits = [self._status_of(each, statuses) for each in self._inits]
        mains = [self._status_of(each, statuses) for each in self._spec["containers"]]
        ready = phase == "Running" and all(each["ready"] for each in mains)
        initialized = len(self.containers) > len(self._inits)
        conditions = [_condition("PodScheduled", scheduled)]
        if not scheduled:
            conditions[0] |= {"reason": "Unschedulable", "message": "0/1 nodes are available"}

        def change(pod: Json) -> None:
            status = pod["status"]
            status.update(more, phase=phase, conditions=conditions)
            if not scheduled:
                return
            conditions[1:] = [
                _condition("Initialized", initialized),
                _condition("ContainersReady", ready),
                _condition("Ready", ready),
            ]
            status["initContainerStatuses"] = inits
            status["containerStatuses"] = mains
            status["podIP"] = status["hostIP"] = "127.0.0.1"
            pod["spec"]["nodeName"] = NODE_NAME

        self.node.store.change(PODS, self.namespace, self.name, change)

    def _status_of(self, spec: Json, statuses: dict[str, Json]) -> Json:
        waiting = {"reason": self._waiting}
        if self.stuck:
            waiting["message"] = self.stuck
        return statuses.get(spec["name"]) or {
            "name": spec["name"],
            "image": spec["image"],
            "imageID": "",
            "ready": False,
            "started": False,
            "restartCount": 0,
            "state": {"waiting": waiting},
        }

    def _event(self, kind: str, reason: str, message: str) -> None:
        self._events += 1
        self.node.store.create(
            EVENTS,
            self.namespace,
            {
                "metadata": {"name": f"{self.name}.{self.uid[:8]}.{self._events}"},
                "involvedObject": {
                    "apiVersion": "v1",
                    "kind": "Pod",
                    "name": self.name,
                    "namespace": self.namespace,
                    "uid": self.uid,
                },
                "type": kind,
                "reason": reason,
                "message": message,
                "count": 1,
                "firstTimestamp": now(),
                "lastTimestamp": now(),
            },
        )


def _condition(kind: str, holds: bool) -> Json:
    return {"type": kind, "status": str(holds)}
