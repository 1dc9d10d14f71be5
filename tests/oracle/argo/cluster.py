"""Runs a workflow under Argo's controller and executor, on an emulated cluster."""

from __future__ import annotations

import base64
import datetime
import gzip
import json
import os
import subprocess
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path

from tests.fakes.kubernetes.container import Node
from tests.fakes.kubernetes.faults import Faults
from tests.fakes.kubernetes.kubelet import Kubelet
from tests.fakes.kubernetes.server import Ending, Server, kubeconfig
from tests.fakes.kubernetes.store import (
    CONFIG_MAPS,
    SECRETS,
    SERVICE_ACCOUNTS,
    WORKFLOWS,
    ApiError,
    Json,
    Resource,
    Store,
)
from tests.fakes.kubernetes.tools import hidden_folders, make_tools
from tests.oracle.argo import bucket
from tests.oracle.argo.bucket import Bucket
from tests.oracle.argo.build import programs

NAMESPACE = "default"
EXECUTOR_IMAGE = "argoexec"
_COMPLETED = "workflows.argoproj.io/completed"
_POLL_S = 0.02
_WAIT_DELAY_S = 1.5
"""How long the wait container starts after the others, unless they end before.

Argo's executor looks once a second whether they have ended: one that starts after that need not
wait. Kubernetes promises no order.
"""
_DEAF_S = 600.0
"""How long, at most, a container gets no request to end.

A program in Go ends at once if one comes before it has set up its handlers. In a cluster that does
not happen, as a request takes longer than that; here it waits for the executor's first line.
"""
RUNNING: list[Cluster] = []
"""The clusters whose controllers run, in this process."""

_CLUSTER_WIDE = frozenset({"clusterworkflowtemplates", "namespaces"})
_PLURALS = {
    ("v1", "ConfigMap"): CONFIG_MAPS,
    ("v1", "Secret"): SECRETS,
    ("v1", "ServiceAccount"): SERVICE_ACCOUNTS,
    **{
        ("argoproj.io/v1alpha1", kind): Resource("argoproj.io", "v1alpha1", kind.lower() + "s")
        for kind in ("WorkflowTemplate", "ClusterWorkflowTemplate", "CronWorkflow", "Workflow")
    },
}


class OracleError(Exception):
    """The oracle itself cannot go on; this says nothing about the workflow."""


class OracleTimeoutError(OracleError):
    """The workflow did not end in time."""


def read_objects(manifest: Path) -> list[Json]:
    """The objects of a manifest, as Argo reads them."""
    done = subprocess.run(
        [programs() / "lint", "-objects", manifest], capture_output=True, text=True, check=False
    )
    if done.returncode:
        raise OracleError(f"{manifest.name} cannot be read: {done.stderr.strip()}")
    # Not splitlines: it takes control characters inside of texts for ends of lines.
    return [json.loads(line) for line in done.stdout.split("\n") if line]


class Cluster:
    """A store with a server, a node and a controller. Use it in a ``with`` statement."""

    def __init__(
        self,
        work_dir: Path,
        *,
        python: str,
        images: Mapping[str, Json],
        settings: Mapping[str, object],
        shared: Sequence[Path],
        statuses: Mapping[Resource, Ending],
        pod_grace_s: int | None = None,
    ) -> None:
        self.work_dir = work_dir
        work_dir.mkdir(parents=True, exist_ok=True)
        self.store = Store(pod_grace_s=pod_grace_s)
        self.bucket = Bucket(work_dir / "bucket")
        self.faults = Faults()
        # Workflows create Workflows, whose status is the controller's.
        kinds = {WORKFLOWS: lambda sent: sent.get("status") or {}, **statuses}
        self.server = Server(self.store, kinds, elsewhere=self.bucket.answer, faults=self.faults)
        self._loaded: list[Json] = []
        self._images = images
        self._settings = settings
        config = work_dir / "kubeconfig"
        config.write_text(kubeconfig(self.server.address))
        self.node = Node(
            store=self.store,
            tools=make_tools(
                work_dir / "tools",
                python,
                {"argoexec": programs() / "launcher", "argoexec-program": programs() / "argoexec"},
            ),
            kubeconfig=config,
            client_image=EXECUTOR_IMAGE,
            visible=hidden_folders(python, programs()),
            shared=tuple(shared),
            late="wait",
            late_s=_WAIT_DELAY_S,
            deaf_s=_DEAF_S,
        )
        self.kubelet = Kubelet(self.node, work_dir / "pods")
        self.server.on_signal(self.kubelet.signal)
        self.server.run_on(self.kubelet)
        self.log = work_dir / "controller.log"

    @contextmanager
    def running(self) -> Iterator[Cluster]:
        """Run server, node and controller."""
        self._prepare()
        with self.server, self.kubelet:
            self._start()
            RUNNING.append(self)
            try:
                yield self
            finally:
                RUNNING.remove(self)
                self._end()

    @property
    def controller(self) -> int:
        """The number of the controller's process."""
        return self._controller.pid

    def restart_controller(self) -> None:
        """Kill the controller, and start another."""
        self._end()
        self._start()

    def _end(self) -> None:
        self._controller.kill()
        self._controller.wait()
        assert self._controller.stdin is not None
        self._controller.stdin.close()

    def _start(self) -> None:
        environment = {
            **{key: os.environ[key] for key in ("PATH", "HOME", "TMPDIR") if key in os.environ},
            "KUBECONFIG": str(self.node.kubeconfig),
            "ARGO_POD_STATUS_CAPTURE_FINALIZER": "true",
            "DEFAULT_REQUEUE_TIME": "50ms",
            "SEMAPHORE_NOTIFY_DELAY": "50ms",
            # "false", the default, sleeps a second after every change, for fewer conflicts; with
            # "true" the controller may miss a change of its own. Any other value does neither.
            "INFORMER_WRITE_BACK": "none",
        }
        command = [
            str(programs() / "controller"),
            f"-namespace={NAMESPACE}",
            f"-executor-image={EXECUTOR_IMAGE}",
        ]
        with open(self.log, "ab") as log:
            self._controller = subprocess.Popen(
                command, env=environment, stdin=subprocess.PIPE, stdout=log, stderr=log
            )

    def _prepare(self) -> None:
        for name in ("artifacts-key", "artifacts-secret"):
            encoded = base64.b64encode(name.encode()).decode()
            self.create(SECRETS, {"metadata": {"name": name}, "data": {"value": encoded}})
        self.create(Resource("", "v1", "namespaces"), {"metadata": {"name": NAMESPACE}})
        self.create(SERVICE_ACCOUNTS, {"metadata": {"name": "default"}})
        token = {"metadata": {"name": "default.service-account-token"}}
        self.create(SECRETS, {**token, "data": {"token": base64.b64encode(b"token").decode()}})
        repository = {
            "endpoint": self.server.address,
            "bucket": bucket.NAME,
            "region": "us-east-1",
            "insecure": True,
            "accessKeySecret": {"name": "artifacts-key", "key": "value"},
            "secretKeySecret": {"name": "artifacts-secret", "key": "value"},
        }
        config = {
            "artifactRepository": {"s3": repository},
            "executor": {"env": [{"name": "RESOURCE_STATE_CHECK_INTERVAL", "value": "300ms"}]},
            "images": dict(self._images),
            "metricsConfig": {"enabled": False},
            "telemetryConfig": {"enabled": False},
            "nodeEvents": {"enabled": False},
            "workflowEvents": {"enabled": False},
            **self._settings,
        }
        name = "workflow-controller-configmap"
        data = {"config": json.dumps(config)}
        self.create(CONFIG_MAPS, {"metadata": {"name": name}, "data": data})

    def create(self, resource: Resource, found: Json) -> Json:
        namespace = "" if resource.plural in _CLUSTER_WIDE else NAMESPACE
        return self.store.create(resource, namespace, found)

    def load(self, objects: list[Json]) -> list[Json]:
        """Create the objects but the workflows, and return what is to be submitted.

        An object that was created before in the same words is left as it is.
        """
        workflows = [each for each in objects if each.get("kind") == "Workflow"]
        for each in objects:
            if each in workflows:
                continue
            resource = _PLURALS.get((each.get("apiVersion", ""), each.get("kind", "")))
            if resource is None:
                raise OracleError(f"not emulated: {each.get('kind')} of {each.get('apiVersion')}")
            if each not in self._loaded:
                self.create(resource, each)
                self._loaded.append(each)
        return workflows

    def config_map(self, name: str) -> dict[str, str] | None:
        try:
            found = self.store.get(CONFIG_MAPS, NAMESPACE, name)
        except ApiError:
            return None
        return found.get("data") or {}

    def submit(self, workflow: Json, *, timeout_s: float) -> Json:
        """Run a workflow and return it as the controller leaves it."""
        created = self.create(WORKFLOWS, workflow)
        return self.wait(created["metadata"]["name"], timeout_s=timeout_s)

    def wait(self, name: str, *, timeout_s: float) -> Json:
        """Wait for the end of a workflow and return it as the controller leaves it."""
        limit = time.monotonic() + timeout_s
        while True:
            found = self.store.get(WORKFLOWS, NAMESPACE, name)
            if found["metadata"].get("labels", {}).get(_COMPLETED) == "true":
                return found
            if self._controller.poll() is not None:
                raise OracleError(f"the controller ended:\n{self._log_tail()}")
            for pod in list(self.kubelet.pods):
                if pod.stuck:
                    raise OracleError(f"pod {pod.name} cannot start: {pod.stuck}")
            if time.monotonic() > limit:
                phases = {
                    node["displayName"]: node.get("phase") for node in nodes_of(found).values()
                }
                log = self._log_tail(of=name)
                raise OracleTimeoutError(
                    f"{name} did not end in {timeout_s} s; nodes: {phases}\n{log}"
                )
            time.sleep(_POLL_S)

    def _log_tail(self, *, of: str = "") -> str:
        """The last lines of the controller's log, of all that mention a workflow."""
        lines = self.log.read_text(errors="replace").splitlines()
        return "\n".join([line for line in lines if of in line][-40:])


def to_workflow(objects: list[Json], scheduled: datetime.datetime) -> Json:
    """The workflow that a manifest without one stands for.

    A CronWorkflow is run as its schedule would run it at `scheduled`; a WorkflowTemplate as
    ``argo submit --from`` does.
    """
    found = objects[-1] if objects else {}
    kind, name = found.get("kind"), found.get("metadata", {}).get("name")
    metadata: Json = {"generateName": f"{name}-"}
    if kind == "CronWorkflow":
        own = found["spec"].get("workflowMetadata") or {}
        time_text = scheduled.strftime("%Y-%m-%dT%H:%M:%SZ")
        metadata["labels"] = {
            **own.get("labels", {}),
            "workflows.argoproj.io/cron-workflow": name,
        }
        metadata["annotations"] = {
            **own.get("annotations", {}),
            "workflows.argoproj.io/scheduled-time": time_text,
        }
        spec = found["spec"]["workflowSpec"]
    elif kind in ("WorkflowTemplate", "ClusterWorkflowTemplate"):
        reference = {"name": name, "clusterScope": kind == "ClusterWorkflowTemplate"}
        spec = {"workflowTemplateRef": reference}
    else:
        raise OracleError("the manifest has nothing to run")
    return {"metadata": metadata, "spec": spec}


def with_parameters(workflow: Json, parameters: Mapping[str, str]) -> Json:
    """The workflow with arguments as ``argo submit -p`` sets them."""
    arguments = workflow["spec"].get("arguments") or {}
    kept = [one for one in arguments.get("parameters") or () if one["name"] not in parameters]
    given = [{"name": name, "value": value} for name, value in parameters.items()]
    arguments = {**arguments, "parameters": given + kept}
    return {**workflow, "spec": {**workflow["spec"], "arguments": arguments}}


def nodes_of(workflow: Json) -> dict[str, Json]:
    """The nodes in the status of a workflow, compressed or not."""
    status = workflow.get("status", {})
    if packed := status.get("compressedNodes"):
        nodes: dict[str, Json] = json.loads(gzip.decompress(base64.b64decode(packed)))
        return nodes
    return status.get("nodes") or {}
