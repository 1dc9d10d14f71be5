"""Training jobs as objects of the Kubernetes API: which there are, their sizes, nodes and ends."""

from __future__ import annotations

import json
import math
import typing as t
from collections.abc import Iterator, Mapping, Sequence

Json: t.TypeAlias = t.Any

PLURALS: Mapping[str, tuple[str, str]] = {
    "ConfigMap": ("v1", "configmaps"),
    "Job": ("batch/v1", "jobs"),
    "MPIJob": ("kubeflow.org/v2beta1", "mpijobs"),
    "PyTorchJob": ("kubeflow.org/v1", "pytorchjobs"),
    "TFJob": ("kubeflow.org/v1", "tfjobs"),
}
"""Version of the API and name in paths, by kind."""

SPECS: Mapping[str, str] = {
    "MPIJob": "mpiReplicaSpecs",
    "PyTorchJob": "pytorchReplicaSpecs",
    "TFJob": "tfReplicaSpecs",
}
"""Kinds whose number of workers can change, and the field of their replicas."""

_FIRST: Mapping[str, str] = {"PyTorchJob": "Master", "TFJob": "Chief"}
"""Replicas that work beside the workers."""

_POD_LABELS: Mapping[str, str] = {"Job": "batch.kubernetes.io/job-name"}
_TRAINING_LABEL = "training.kubeflow.org/job-name"

HOST_LABEL = "kubernetes.io/hostname"
PROGRESS = "couler-progress "
"""Begins the lines in which programs report their progress, as JSON."""


class ClusterObjects(t.Protocol):
    """Objects of a namespace, through the Kubernetes API; kinds are those of `PLURALS`."""

    def get(self, kind: str, name: str) -> Json | None:
        """Return an object; None if there is none."""
        ...

    def create(self, manifest: Json) -> Json | None:
        """Create an object and return it; None if there is one of its name, which stays."""
        ...

    def patch(self, kind: str, name: str, patch: Json) -> None:
        """Change fields of an object; nothing happens if there is none."""
        ...

    def replace(self, manifest: Json) -> Json:
        """Replace the object of its version, and return it."""
        ...

    def delete(self, kind: str, name: str) -> None:
        """Delete an object, after its pods; nothing happens if there is none."""
        ...

    def pods(self, label: str) -> Sequence[Json]:
        """Return the pods that have a label, `KEY=VALUE`."""
        ...

    def log(self, pod: str, container: str, lines: int) -> Iterator[str]:
        """Yield the last lines of the log of a container."""
        ...


LOG_LINES = 1000
"""Progress is looked for in so many lines at the end of a log."""


def with_size(manifest: Json, workers: int, servers: int = 0) -> Json:
    """Return the part of a job's specification that has a number of workers; 0 suspends it."""
    if not workers:  # operators refuse a job without replicas
        return {"spec": {"runPolicy": {"suspend": True}}}
    kind = manifest["kind"]
    specs = manifest["spec"][SPECS[kind]]
    first = int(_FIRST.get(kind, "") in specs)
    replicas: Json = {"Worker": {"replicas": max(0, workers - first)}}
    if "PS" in specs:
        replicas["PS"] = {"replicas": servers}
    return {"spec": {"runPolicy": {"suspend": False}, SPECS[kind]: replicas}}


def size_of(manifest: Json) -> int:
    """Return the number of workers that a job has now."""
    kind, spec = manifest["kind"], manifest["spec"]
    if (spec.get("runPolicy") or {}).get("suspend"):
        return 0
    specs = spec[SPECS[kind]]
    first = int(_FIRST.get(kind, "") in specs)
    return first + int(specs.get("Worker", {}).get("replicas", 1))


def with_node(manifest: Json, node: str) -> Json:
    """Return a job all of whose pods run on the node of a host name."""
    kind = manifest["kind"]
    pods: Json = {"template": {"spec": {"nodeSelector": {HOST_LABEL: node}}}}
    if kind in SPECS:
        pods = {SPECS[kind]: dict.fromkeys(manifest["spec"][SPECS[kind]], pods)}
    return merged(manifest, {"spec": pods})


def node_of(found: Json) -> str | None:
    """Return the host name that the pods of a job are bound to; None if they are not."""
    spec, kind = found["spec"], found["kind"]
    first = next(iter(spec[SPECS[kind]].values())) if kind in SPECS else spec
    node: str | None = (first["template"]["spec"].get("nodeSelector") or {}).get(HOST_LABEL)
    return node


def end_of(found: Json) -> t.Literal["succeeded", "failed"] | None:
    """Return how a job has ended; None if it has not."""
    for condition in (found.get("status") or {}).get("conditions") or ():
        if condition["status"] == "True":
            if condition["type"] in ("Succeeded", "Complete"):
                return "succeeded"
            if condition["type"] == "Failed":
                return "failed"
    return None


def merged(base: Json, patch: Json) -> Json:
    """Return a JSON merge patch put into an object (RFC 7386, without deletions)."""
    if not isinstance(base, Mapping) or not isinstance(patch, Mapping):
        return patch
    return {**base, **{key: merged(base.get(key), value) for key, value in patch.items()}}


def last_progress(objects: ClusterObjects, kind: str, name: str) -> dict[str, float]:
    """Return the newest progress that a running pod of a job has reported; empty without one."""
    label = _POD_LABELS.get(kind, _TRAINING_LABEL)
    for pod in objects.pods(f"{label}={name}"):
        if pod["status"].get("phase") != "Running":
            continue
        container = pod["spec"]["containers"][0]["name"]
        lines = list(objects.log(pod["metadata"]["name"], container, LOG_LINES))
        for line in reversed(lines):
            progress = read_progress(line)
            if progress:
                return progress
    return {}


def read_progress(line: str) -> dict[str, float]:
    """Return the finite numbers that a line of a log reports; empty if it reports none."""
    _, mark, text = line.partition(PROGRESS)
    try:
        found = json.loads(text) if mark else {}
    except (ValueError, RecursionError):
        return {}
    given = found.items() if isinstance(found, dict) else ()
    return {
        name: value
        for name, value in given
        if isinstance(value, int | float) and math.isfinite(value)
    }
