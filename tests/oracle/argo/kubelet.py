"""Runs the pods of a store as processes of this machine, and reports on them as a kubelet does."""

from __future__ import annotations

import datetime
import shutil
import signal
import threading
import time
from collections.abc import Callable
from pathlib import Path

from tests.oracle.argo.container import ConfigError, Container, Node, text_of
from tests.oracle.argo.selectors import selector
from tests.oracle.argo.store import CONFIG_MAPS, PODS, SECRETS, ApiError, Json

MAX_PODS = 12
_TICK_S = 0.02
_WAIT_CONTAINER = "wait"
_WAIT_DELAY_S = 1.5
"""How long the wait container starts after the others, unless they end before.

Argo's executor looks once a second whether they have ended: one that starts after that need not
wait. Kubernetes promises no order.
"""


class Kubelet:
    """Runs each pod that appears, until it is closed. At most `MAX_PODS` at the same time."""

    def __init__(self, node: Node, folder: Path) -> None:
        self.node = node
        self.folder = folder
        self.pods: list[Pod] = []
        self._closing = threading.Event()
        self._room = threading.Semaphore(MAX_PODS)
        self._threads: list[threading.Thread] = []
        self._watcher = threading.Thread(target=self._watch)

    def __enter__(self) -> Kubelet:
        self._watcher.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._closing.set()
        self.node.store.close()
        self._watcher.join()
        for thread in self._threads:
            thread.join()

    def signal(self, pod: str, container: str, number: int) -> None:
        """Terminate or kill a container in the background, as ``kubectl exec`` of a kill does."""
        for known in list(self.pods):
            for running in list(known.containers):
                if (known.name, running.name) == (pod, container):
                    action = running.kill if number == signal.SIGKILL else running.terminate
                    thread = threading.Thread(target=action)
                    self._threads.append(thread)
                    thread.start()

    def _watch(self) -> None:
        everything = selector("", "", "")
        for event in self.node.store.watch(PODS, everything, "0", timeout_s=5):
            if event is None or event[0] != "ADDED":
                continue
            pod = Pod(self.node, event[1], self.folder, self._closing)
            self.pods.append(pod)
            thread = threading.Thread(target=self._run, args=(pod,), name=pod.name)
            self._threads.append(thread)
            thread.start()

    def _run(self, pod: Pod) -> None:
        while not self._room.acquire(timeout=_TICK_S * 5):
            if self._closing.is_set():
                return
        try:
            pod.run()
        finally:
            self._room.release()


class Pod:
    """A pod and the containers of it that have started."""

    def __init__(self, node: Node, found: Json, folder: Path, closing: threading.Event) -> None:
        self.node = node
        self.found = found
        self.name: str = found["metadata"]["name"]
        self.namespace: str = found["metadata"]["namespace"]
        self.folder = folder / f"{self.name}-{found['metadata']['uid'][:8]}"
        self.containers: list[Container] = []
        self.stuck = ""
        self._closing = closing
        self._started = time.monotonic()
        self._over_deadline = False

    def run(self) -> None:
        """Run the pod to its end, or until it is deleted or the kubelet closes."""
        self._started = time.monotonic()
        spec = self.found["spec"]
        try:
            self._report("Pending", startTime=_now())
            volumes = {volume["name"]: self._volume(volume) for volume in spec.get("volumes") or ()}
            for each in spec.get("initContainers") or ():
                container = self._start(each, volumes)
                self._follow(container.poll)
                if container.exit_code != 0:
                    break
            else:
                self._run_containers(spec["containers"], volumes)
            self._finish()
        except ConfigError as error:
            self.stuck = str(error)
            self._report("Pending")
        except ApiError as error:
            if error.code != 404:  # else the pod has been deleted
                raise
        finally:
            for container in self.containers:
                container.kill()
            shutil.rmtree(self.folder / "volumes", ignore_errors=True)

    def _run_containers(self, specs: list[Json], volumes: dict[str, Path]) -> None:
        late = [each for each in specs if each["name"] == _WAIT_CONTAINER]
        early = [self._start(each, volumes) for each in specs if each not in late]
        self._report("Running")
        deadline_s = self.found["spec"].get("activeDeadlineSeconds", 2 * _WAIT_DELAY_S)
        limit = time.monotonic() + min(_WAIT_DELAY_S, deadline_s / 2)
        if late:
            mains = [one for one in early if one.name == "main"] or early
            self._follow(lambda: time.monotonic() > limit or all(one.poll() for one in mains))
            early += [self._start(each, volumes) for each in late]
            self._report("Running")
        for container in early:
            self._follow(container.poll)
            self._report("Running")

    def _start(self, spec: Json, volumes: dict[str, Path]) -> Container:
        folder = self.folder / spec["name"]
        container = Container(self.node, self.found, spec, volumes, folder)
        self.containers.append(container)
        return container

    def _follow(self, done: Callable[[], bool]) -> None:
        """Wait for something, and end the pod when its time is over or it is deleted."""
        deadline_s = self.found["spec"].get("activeDeadlineSeconds")
        killing: float | None = None
        while not done():
            time.sleep(_TICK_S)
            if self._closing.is_set():
                raise ApiError(404, "NotFound", "the kubelet closes")
            if killing is None:
                age_s = time.monotonic() - self._started
                self._over_deadline = deadline_s is not None and age_s >= deadline_s
                if self._over_deadline or self._deleted():
                    killing = time.monotonic() + self._grace_s()
                    for container in self.containers:
                        container.terminate()
            elif time.monotonic() > killing:
                for container in self.containers:
                    container.kill()

    def _deleted(self) -> bool:
        found = self.node.store.get(PODS, self.namespace, self.name)
        return "deletionTimestamp" in found["metadata"]

    def _grace_s(self) -> float:
        return float(self.found["spec"].get("terminationGracePeriodSeconds", 30))

    def _finish(self) -> None:
        planned = len(self.found["spec"]["containers"])
        planned += len(self.found["spec"].get("initContainers") or ())
        well = all(each.exit_code == 0 for each in self.containers)
        if self._over_deadline:
            message = "Pod was active on the node longer than the specified deadline"
            self._report("Failed", reason="DeadlineExceeded", message=message)
        elif well and len(self.containers) == planned:
            self._report("Succeeded")
        else:
            self._report("Failed")

    def _report(self, phase: str, **more: str) -> None:
        statuses = {each.name: each.status() for each in self.containers}

        def status_of(spec: Json) -> Json:
            waiting = {"reason": "PodInitializing"}
            if self.stuck:
                waiting = {"reason": "CreateContainerConfigError", "message": self.stuck}
            return statuses.get(spec["name"]) or {
                "name": spec["name"],
                "image": spec["image"],
                "imageID": "",
                "ready": False,
                "started": False,
                "restartCount": 0,
                "state": {"waiting": waiting},
            }

        spec = self.found["spec"]
        inits = [status_of(each) for each in spec.get("initContainers") or ()]
        mains = [status_of(each) for each in spec["containers"]]
        ready = phase == "Running" and all(each["ready"] for each in mains)

        def change(pod: Json) -> None:
            pod["status"].update(more, phase=phase)
            pod["status"]["initContainerStatuses"] = inits
            pod["status"]["containerStatuses"] = mains
            pod["status"]["podIP"] = "127.0.0.1"
            pod["status"]["conditions"] = [
                {"type": "PodScheduled", "status": "True"},
                {"type": "Ready", "status": str(ready)},
            ]

        self.node.store.change(PODS, self.namespace, self.name, change)

    def _volume(self, volume: Json) -> Path:
        folder = self.folder / "volumes" / str(volume["name"])
        folder.mkdir(parents=True)
        if "emptyDir" in volume:
            return folder
        if claim := volume.get("persistentVolumeClaim"):
            kept = self.folder.parent / "claims" / str(claim["claimName"])
            kept.mkdir(parents=True, exist_ok=True)
            return kept
        for kind, resource in (("secret", SECRETS), ("configMap", CONFIG_MAPS)):
            if kind in volume:
                source = volume[kind]
                name = source.get("secretName") or source.get("name")
                try:
                    found = self.node.store.get(resource, self.namespace, name)
                except ApiError as error:
                    if source.get("optional"):
                        return folder
                    raise ConfigError(str(error)) from error
                values = text_of(resource, found)
                items = source.get("items") or [{"key": key, "path": key} for key in values]
                for item in items:
                    file = folder / item["path"]
                    file.parent.mkdir(parents=True, exist_ok=True)
                    file.write_text(values[item["key"]], encoding="utf-8")
                return folder
        raise ConfigError(f"not emulated: a volume with {', '.join(set(volume) - {'name'})}")


def _now() -> str:
    return datetime.datetime.now(datetime.UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
