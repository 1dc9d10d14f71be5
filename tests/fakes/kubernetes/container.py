"""One container of a pod: what the kubelet makes of its spec, and the process that runs."""

from __future__ import annotations

import datetime
import functools
import json
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tests.fakes.kubernetes import sandbox
from tests.fakes.kubernetes.expansion import expand
from tests.fakes.kubernetes.images import ConfigError, Images
from tests.fakes.kubernetes.logs import Log
from tests.fakes.kubernetes.store import CONFIG_MAPS, SECRETS, ApiError, Json, Resource, Store
from tests.fakes.kubernetes.volumes import entries

NODE_NAME = "this-machine"
MESSAGE_LIMIT = 4096
_TAIL_LINES, _TAIL_BYTES = 80, 2048


Mount = tuple[str, str, bool]
"""A file or folder of this machine, its path in the container, and whether that can be written."""


@dataclass(frozen=True)
class Node:
    """The machine that pods run on."""

    store: Store
    tools: Path
    """A folder of programs, first in PATH."""
    kubeconfig: Path
    client_image: str = ""
    """The image of containers that talk to the API server: they get the kubeconfig."""
    visible: tuple[Path, ...] = ()
    """Folders that containers see though they lie where each has folders of its own."""
    shared: tuple[Path, ...] = ()
    """Folders of this machine that containers can write."""
    images: Images = field(default_factory=Images)
    max_pods: int = 12
    """How many pods run at the same time; others wait."""
    late: str = ""
    """The name of containers that start some time after the others of their pod."""
    late_s: float = 1.5
    """How long they wait, unless the others end before."""
    deaf_s: float = 0.0
    """How long, at most, a container that has said nothing yet gets no request to end."""
    grace_s: float = 30.0
    """The longest time that a container gets to end after a request."""


# The launcher of the Argo oracle knows the first of them.
TOOLS, KUBECONFIG, HOME = "/run/oracle/bin", "/run/oracle/kubeconfig", "/run/oracle/home"
PATH = f"{TOOLS}:/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
_SERVICE = {
    "KUBERNETES_SERVICE_HOST": "10.96.0.1",
    "KUBERNETES_SERVICE_PORT": "443",
    "KUBERNETES_SERVICE_PORT_HTTPS": "443",
    "KUBERNETES_PORT": "tcp://10.96.0.1:443",
    "KUBERNETES_PORT_443_TCP": "tcp://10.96.0.1:443",
    "KUBERNETES_PORT_443_TCP_PROTO": "tcp",
    "KUBERNETES_PORT_443_TCP_PORT": "443",
    "KUBERNETES_PORT_443_TCP_ADDR": "10.96.0.1",
}


@functools.cache
def sandbox_obstacle() -> str | None:
    """Why containers cannot run here, or None."""
    if sys.platform != "linux":
        return "containers need namespaces, so Linux"
    code = "import sandbox; sandbox.enter_namespaces()"
    done = subprocess.run(
        [sys.executable, "-c", code],
        cwd=Path(sandbox.__file__).parent,
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode:
        return f"containers need namespaces: {done.stderr.strip().splitlines()[-1]}"
    return None


def environment(node: Node, pod: Json, spec: Json) -> dict[str, str]:
    """The variables that the spec of a container declares, expanded in order."""
    namespace = pod["metadata"]["namespace"]
    made: dict[str, str] = {}
    for source in spec.get("envFrom") or ():
        for kind, resource in (("configMapRef", CONFIG_MAPS), ("secretRef", SECRETS)):
            if reference := source.get(kind):
                values = _data(node.store, resource, namespace, reference)
                made |= {source.get("prefix", "") + key: text for key, text in values.items()}
    for entry in spec.get("env") or ():
        if "valueFrom" not in entry:
            made[entry["name"]] = expand(entry.get("value", ""), {**_SERVICE, **made})
            continue
        text = _value_from(node.store, pod, entry["valueFrom"])
        if text is not None:
            made[entry["name"]] = text
    return made


def _value_from(store: Store, pod: Json, source: Json) -> str | None:
    if reference := source.get("fieldRef"):
        value: Any = {**pod, "spec": {"nodeName": NODE_NAME, **pod["spec"]}}
        path = reference["fieldPath"]
        for key in path.replace("['", ".").replace("']", "").split(".", 2):
            value = value.get(key, "")
        return str(value)
    for kind, resource in (("secretKeyRef", SECRETS), ("configMapKeyRef", CONFIG_MAPS)):
        if reference := source.get(kind):
            values = _data(store, resource, pod["metadata"]["namespace"], reference)
            if reference["key"] not in values and not reference.get("optional"):
                raise ConfigError(
                    f"couldn't find key {reference['key']} in {resource.kind} "
                    f"{pod['metadata']['namespace']}/{reference['name']}"
                )
            return values.get(reference["key"])
    raise ConfigError(f"not emulated: a variable from {', '.join(source)}")


def _data(store: Store, resource: Resource, namespace: str, reference: Json) -> dict[str, str]:
    try:
        found = store.get(resource, namespace, reference["name"])
    except ApiError as error:
        if reference.get("optional"):
            return {}
        raise ConfigError(str(error)) from error
    return {key: text.decode() for key, text in entries(resource, found).items()}


class Container:
    """A container that has started, or ended."""

    def __init__(
        self,
        node: Node,
        pod: Json,
        spec: Json,
        volumes: Mapping[str, Path],
        folder: Path,
        *,
        ends_itself: bool = False,
    ) -> None:
        self.name: str = spec["name"]
        self.spec = spec
        self.folder = folder
        folder.mkdir(parents=True)
        self.env = environment(node, pod, spec)
        known = {**_SERVICE, **self.env}
        image = node.images.get(spec["image"])
        given = [expand(text, known) for text in spec.get("command") or ()]
        self.command = given or list(image.entrypoint)
        # As in a cluster: the image's arguments belong to its own entry point.
        arguments = spec.get("args") or (() if given else image.arguments)
        self.args = [expand(text, known) for text in arguments]
        if not self.command and not self.args:
            raise ConfigError(f"not known: what {spec['image']} starts without a command")
        self.exit_code: int | None = None
        self._deaf_s = node.deaf_s
        self._ends_itself = ends_itself
        self._reason = ""
        self._was_killed = False
        self._message = folder / "termination-log"
        self._message.touch()
        surroundings = {
            "PATH": image.path or PATH,
            "HOME": HOME,
            "HOSTNAME": pod["metadata"]["name"],
            **_SERVICE,
        }
        if spec["image"] == node.client_image:
            surroundings["KUBECONFIG"] = KUBECONFIG
        self.environment = {**surroundings, **self.env}
        self.cwd: str = spec.get("workingDir") or "/"
        (folder / "root").mkdir()
        (folder / "spec.json").write_text(
            json.dumps(
                {
                    "root": str(folder / "root"),
                    "private": ["/tmp", "/run", HOME],
                    "mounts": [
                        *self._own_mounts(node),
                        *((str(source), target, False) for source, target in image.mounts),
                        *self._volume_mounts(volumes, known),
                    ],
                    "argv": [*self.command, *self.args],
                    "env": self.environment,
                    "cwd": self.cwd,
                    "error": str(folder / "error"),
                    "pid": str(folder / "pid"),
                }
            )
        )
        with open(folder / "stdout", "wb") as stdout, open(folder / "stderr", "wb") as stderr:
            self._process = subprocess.Popen(
                [sys.executable, "-I", "-S", sandbox.__file__, str(folder / "spec.json")],
                stdin=subprocess.DEVNULL,
                stdout=stdout,
                stderr=stderr,
                start_new_session=True,
            )
        self.log = Log(folder / "stdout", folder / "stderr")
        self._began = time.monotonic()
        self.started = now()
        self.ended = ""

    def _own_mounts(self, node: Node) -> list[Mount]:
        message_path = self.spec.get("terminationMessagePath") or "/dev/termination-log"
        mounts = [
            (str(node.tools), TOOLS, False),
            (str(self._message), message_path, True),
            *((str(path), str(path), False) for path in node.visible),
            *((str(path), str(path), True) for path in node.shared),
        ]
        if self.spec["image"] == node.client_image:
            mounts.append((str(node.kubeconfig), KUBECONFIG, False))
        return mounts

    def _volume_mounts(
        self, volumes: Mapping[str, Path], variables: Mapping[str, str]
    ) -> Iterator[Mount]:
        for mount in self.spec.get("volumeMounts") or ():
            source = volumes[mount["name"]]
            if below := mount.get("subPath") or mount.get("subPathExpr"):
                source = source / expand(below, variables)
                if not source.exists():
                    source.mkdir(parents=True)
            yield str(source), mount["mountPath"], not mount.get("readOnly", False)

    def begun(self) -> bool:
        """Whether the process of the container is there, or has been."""
        return self.poll() or (self.folder / "pid").exists()

    def poll(self) -> bool:
        """Whether the container has ended."""
        if self.exit_code is None:
            code = self._process.poll()  # before the log is read: nothing is written after
            self.log.read(to_the_end=code is not None)
            if code is not None:
                self.exit_code, self.ended = code, now()
        return self.exit_code is not None

    def returned(self) -> bool:
        """Whether the container has ended by itself: it could start, and was not killed."""
        return self.poll() and not self._was_killed and not self._cannot_start()

    def wait(self) -> None:
        """Wait for the end."""
        self._process.wait()
        self.poll()

    def terminate(self) -> None:
        """Ask the first process of the container to end, unless it is about to by itself."""
        if self._ends_itself:
            return
        limit = self._began + self._deaf_s
        while not self.poll() and not self.output("stderr") and time.monotonic() < limit:
            time.sleep(0.01)
        if not self.poll():
            self._process.terminate()

    def first_process(self) -> int | None:
        """The process that others must share the namespaces of, once there is one."""
        file = self.folder / "pid"
        return int(file.read_text()) if self.exit_code is None and file.exists() else None

    def kill(self, *, reason: str = "") -> None:
        """Kill all processes of the container, and wait for their end."""
        if not self.poll():
            self._reason, self._was_killed = reason, True
        while not self.poll() and not (self.folder / "error").exists():
            time.sleep(0.001)
        if not self.poll():
            self._process.send_signal(sandbox.KILL)
        self.wait()

    def output(self, name: str) -> str:
        # Not as text: that would change ends of lines.
        return (self.folder / name).read_bytes().decode(errors="replace")

    def status(self) -> Json:
        """The container as in the status of the pod."""
        state: Json
        if self.exit_code is None:
            state = {"running": {"startedAt": self.started}}
        else:
            cannot_start = self._cannot_start()
            reason = "StartError" if cannot_start else "Error" if self.exit_code else "Completed"
            reason = self._reason or reason
            terminated = {
                "exitCode": self.exit_code,
                "reason": reason,
                "startedAt": self.started,
                "finishedAt": self.ended,
            }
            if message := cannot_start or self._termination_message():
                terminated["message"] = message
            state = {"terminated": terminated}
        return {
            "name": self.name,
            "image": self.spec["image"],
            "imageID": self.spec["image"],
            "containerID": f"process://{self.name}",
            "ready": self.exit_code is None,
            "started": self.exit_code is None,
            "restartCount": 0,
            "state": state,
        }

    def _cannot_start(self) -> str:
        """Return why the container could not start; nothing where it could."""
        error = self.folder / "error"
        return error.read_text() if error.exists() else ""

    def _termination_message(self) -> str:
        message = self._message.read_text(encoding="utf-8", errors="replace")[:MESSAGE_LIMIT]
        wants_log = self.spec.get("terminationMessagePolicy") == "FallbackToLogsOnError"
        if message or not wants_log or not self.exit_code:
            return message
        log = (self.output("stdout") + self.output("stderr")).splitlines(keepends=True)
        return "".join(log[-_TAIL_LINES:])[-_TAIL_BYTES:]


def now() -> str:
    return datetime.datetime.now(datetime.UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
