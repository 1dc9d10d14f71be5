"""Runs the pods of a store as processes of this machine."""

from __future__ import annotations

import signal
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from tests.fakes.kubernetes.container import Container, Node
from tests.fakes.kubernetes.faults import Faults
from tests.fakes.kubernetes.pod import Pod
from tests.fakes.kubernetes.selectors import selector
from tests.fakes.kubernetes.store import PODS


class Kubelet:
    """Runs each pod that appears, until it is closed. At most `Node.max_pods` at the same time."""

    def __init__(self, node: Node, folder: Path, faults: Faults | None = None) -> None:
        self.node = node
        self.folder = folder
        self.faults = faults or Faults()
        self.pods: list[Pod] = []
        self.failures: list[BaseException] = []
        """What went wrong in the emulation itself."""
        self._closing = threading.Event()
        self._workers = ThreadPoolExecutor(node.max_pods)
        self._threads: list[threading.Thread] = []
        self._watcher = threading.Thread(target=self._watch)

    def __enter__(self) -> Kubelet:
        self._watcher.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._closing.set()
        self.node.store.close()
        self._watcher.join()
        self._workers.shutdown(cancel_futures=True)
        for thread in self._threads:
            thread.join()
        if self.failures:  # which no thread tells of by itself
            raise RuntimeError("the emulated kubelet has failed") from self.failures[0]

    def container(self, pod: str, name: str) -> Container | None:
        """A container that has been started, given the UID of its pod; of no name, the first."""
        for known in list(self.pods):
            if known.uid == pod:
                wanted = name or known.found["spec"]["containers"][0]["name"]
                return next((one for one in list(known.containers) if one.name == wanted), None)
        return None

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
            fault = self.faults.of_pod(event[1])
            pod = Pod(self.node, event[1], self.folder, self._closing, fault)
            self.pods.append(pod)
            self._workers.submit(self._run, pod)

    def _run(self, pod: Pod) -> None:
        if self._closing.is_set() or pod.gone():
            return
        try:
            pod.run()
        except Exception as error:
            self.failures.append(error)
            raise
