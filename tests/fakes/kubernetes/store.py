"""The objects of a Kubernetes API server, in memory: versions, selectors, watches, finalizers."""

from __future__ import annotations

import copy
import datetime
import threading
import uuid
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

from couler.ir.workflow import Workflow

Json = dict[str, Any]


class ApiError(Exception):
    """A refusal that a Kubernetes client understands."""

    def __init__(
        self, code: int, reason: str, message: str, retry_after: str | None = None
    ) -> None:
        super().__init__(message)
        self.code = code
        self.reason = reason
        self.retry_after = retry_after


@dataclass(frozen=True)
class Resource:
    """A kind of object: ``("", "v1", "pods")``."""

    group: str
    version: str
    plural: str

    @property
    def api_version(self) -> str:
        return f"{self.group}/{self.version}" if self.group else self.version

    @property
    def kind(self) -> str:
        return _KINDS.get(self.plural) or self.plural.removesuffix("s").capitalize()


_KINDS = {
    "clusterworkflowtemplates": "ClusterWorkflowTemplate",
    "configmaps": "ConfigMap",
    "cronworkflows": "CronWorkflow",
    "persistentvolumeclaims": "PersistentVolumeClaim",
    "poddisruptionbudgets": "PodDisruptionBudget",
    "serviceaccounts": "ServiceAccount",
    "mpijobs": "MPIJob",
    "pytorchjobs": "PyTorchJob",
    "tfjobs": "TFJob",
    "trainjobs": "TrainJob",
    "workflowartifactgctasks": "WorkflowArtifactGCTask",
    "workfloweventbindings": "WorkflowEventBinding",
    "workflowtaskresults": "WorkflowTaskResult",
    "workflowtasksets": "WorkflowTaskSet",
    "workflowtemplates": "WorkflowTemplate",
}

PODS = Resource("", "v1", "pods")
EVENTS = Resource("", "v1", "events")
JOBS = Resource("batch", "v1", "jobs")
CONFIG_MAPS = Resource("", "v1", "configmaps")
SECRETS = Resource("", "v1", "secrets")
SERVICE_ACCOUNTS = Resource("", "v1", "serviceaccounts")
WORKFLOWS = Resource("argoproj.io", "v1alpha1", "workflows")
WORKFLOW_TEMPLATES = Resource("argoproj.io", "v1alpha1", "workflowtemplates")


@dataclass(frozen=True)
class _Change:
    version: int
    old: Json | None
    new: Json | None


Matches = Callable[[Json], bool]


class Store:
    """Objects by resource and name. What it returns is shared: copy before you change it."""

    def __init__(self, *, pod_grace_s: int | None = None) -> None:
        self._pod_grace_s = pod_grace_s
        self._changed = threading.Condition()
        self._version = 1
        self._objects: dict[Resource, dict[tuple[str, str], Json]] = {}
        self._history: dict[Resource, list[_Change]] = {}
        self._compacted = 0
        self._closed = False

    def compact(self) -> None:
        """Forget what was before now, as etcd does every few minutes."""
        with self._changed:
            self._compacted = self._version

    def refuse_forgotten(self, version: str) -> None:
        """Refuse to tell what came after a version that is forgotten."""
        if 0 < int(version or 0) < self._compacted:
            message = f"too old resource version: {version} ({self._compacted})"
            raise ApiError(410, "Expired", message)

    def close(self) -> None:
        """End all watches."""
        with self._changed:
            self._closed = True
            self._changed.notify_all()

    def get(self, resource: Resource, namespace: str, name: str) -> Json:
        with self._changed:
            return self._get(resource, namespace, name)

    def list(self, resource: Resource, matches: Matches) -> tuple[int, list[Json]]:
        with self._changed:
            found = self._objects.get(resource, {})
            return self._version, [found[key] for key in sorted(found) if matches(found[key])]

    def create(self, resource: Resource, namespace: str, sent: Json) -> Json:
        new = copy.deepcopy(sent)
        metadata = new.setdefault("metadata", {})
        with self._changed:
            if not metadata.get("name"):
                suffix = uuid.uuid5(uuid.NAMESPACE_OID, str(self._version)).hex[:5]
                metadata["name"] = metadata["generateName"] + suffix
            if namespace:
                metadata["namespace"] = namespace
            self.refuse_taken(resource, namespace, metadata["name"])
            now = datetime.datetime.now(datetime.UTC)
            metadata["uid"] = str(uuid.uuid5(uuid.NAMESPACE_OID, f"{self._version}/{now}"))
            metadata["creationTimestamp"] = now.strftime("%Y-%m-%dT%H:%M:%SZ")
            new["apiVersion"] = resource.api_version
            new["kind"] = new.get("kind") or resource.kind
            if resource == PODS:
                new.setdefault("status", {})["phase"] = "Pending"
                if self._pod_grace_s is not None:
                    new["spec"].setdefault("terminationGracePeriodSeconds", self._pod_grace_s)
            return self._put(resource, None, new)

    def refuse_taken(self, resource: Resource, namespace: str, name: str) -> None:
        """Refuse a name that an object has."""
        with self._changed:
            if (namespace, name) in self._objects.get(resource, {}):
                message = f'{resource.plural} "{name}" already exists'
                raise ApiError(409, "AlreadyExists", message)

    def update(self, resource: Resource, namespace: str, name: str, sent: Json) -> Json:
        with self._changed:
            old = self._expected(resource, namespace, name, sent)
            return self._replace(resource, old, copy.deepcopy(sent))

    def patch(self, resource: Resource, namespace: str, name: str, patch: Json) -> Json:
        """Apply a JSON merge patch (RFC 7386)."""
        with self._changed:
            old = self._expected(resource, namespace, name, patch)
            merged = _merge(old, patch)
            assert isinstance(merged, dict)
            return self._replace(resource, old, merged)

    def change(
        self, resource: Resource, namespace: str, name: str, change: Callable[[Json], None]
    ) -> Json:
        """Change an object in place, with nobody in between."""
        with self._changed:
            old = self._get(resource, namespace, name)
            new = copy.deepcopy(old)
            change(new)
            return self._replace(resource, old, new)

    def delete(
        self,
        resource: Resource,
        namespace: str,
        name: str,
        *,
        uid: str | None = None,
        grace_s: float | None = None,
    ) -> Json:
        """Delete an object, or mark it as deleted while something has to be done before.

        That is the case while it has finalizers, and while a pod has containers that run; these
        get `grace_s` seconds instead of the time that the pod names.
        """
        with self._changed:
            old = self._get(resource, namespace, name)
            if uid and uid != old["metadata"]["uid"]:
                raise ApiError(409, "Conflict", f"the UID in the precondition is not {name}'s")
            if not old["metadata"].get("finalizers") and not _runs(resource, old):
                return self._remove(resource, old)
            if "deletionTimestamp" in old["metadata"]:
                return old
            new = copy.deepcopy(old)
            now = datetime.datetime.now(datetime.UTC)
            new["metadata"]["deletionTimestamp"] = now.strftime("%Y-%m-%dT%H:%M:%SZ")
            if grace_s is not None:
                new["metadata"]["deletionGracePeriodSeconds"] = grace_s
            return self._put(resource, old, new)

    def remove(self, resource: Resource, namespace: str, name: str) -> Json:
        """Remove an object at once, whatever holds it."""
        with self._changed:
            return self._remove(resource, self._get(resource, namespace, name))

    def ended(self, resource: Resource, namespace: str, name: str, uid: str) -> None:
        """Remove a pod that has been deleted and whose containers have ended."""
        with self._changed:
            old = self._get(resource, namespace, name)
            metadata = old["metadata"]
            if metadata["uid"] == uid and not metadata.get("finalizers"):
                self._remove(resource, old)

    def watch(
        self, resource: Resource, matches: Matches, since: str, *, timeout_s: float
    ) -> Iterator[tuple[str, Json] | None]:
        """Yield ``("ADDED" | "MODIFIED" | "DELETED", object)``, or None when nothing happens."""
        with self._changed:
            history = self._history.setdefault(resource, [])
            if since in ("", "0"):
                position = len(history)
                events = [("ADDED", found) for found in self.list(resource, matches)[1]]
            else:
                position, events = 0, []
                while position < len(history) and history[position].version <= int(since):
                    position += 1
        while True:
            yield from events
            with self._changed:
                if not self._closed and position == len(history):
                    self._changed.wait(timeout_s)
                if self._closed:
                    return
                changes = history[position:]
            if not changes:
                yield None
            position += len(changes)
            events = [event for change in changes if (event := _event(change, matches))]

    def _expected(self, resource: Resource, namespace: str, name: str, sent: Json) -> Json:
        """Return an object, which is the one that a change is made for if that says which."""
        old = self._get(resource, namespace, name)
        expected = (sent.get("metadata") or {}).get("resourceVersion")
        if expected and expected != old["metadata"]["resourceVersion"]:
            what = f'Operation cannot be fulfilled on {resource.plural} "{name}"'
            raise ApiError(409, "Conflict", f"{what}: the object has been modified")
        return old

    def _get(self, resource: Resource, namespace: str, name: str) -> Json:
        try:
            return self._objects[resource][namespace, name]
        except KeyError:
            raise ApiError(404, "NotFound", f'{resource.plural} "{name}" not found') from None

    def _replace(self, resource: Resource, old: Json, new: Json) -> Json:
        new["metadata"] = dict(new["metadata"])
        for fixed in ("uid", "name", "namespace", "creationTimestamp", "deletionTimestamp"):
            if fixed in old["metadata"]:
                new["metadata"][fixed] = old["metadata"][fixed]
        new["apiVersion"], new["kind"] = resource.api_version, old["kind"]
        new["metadata"]["resourceVersion"] = old["metadata"]["resourceVersion"]
        if new == old:
            return old
        done = not new["metadata"].get("finalizers") and not _runs(resource, new)
        if "deletionTimestamp" in new["metadata"] and done:
            return self._remove(resource, new)
        return self._put(resource, old, new)

    def _put(self, resource: Resource, old: Json | None, new: Json) -> Json:
        self._version += 1
        metadata = new["metadata"]
        metadata["resourceVersion"] = str(self._version)
        key = metadata.get("namespace", ""), metadata["name"]
        self._objects.setdefault(resource, {})[key] = new
        self._record(resource, old, new)
        return new

    def _remove(self, resource: Resource, old: Json) -> Json:
        self._version += 1
        metadata = old["metadata"]
        del self._objects[resource][metadata.get("namespace", ""), metadata["name"]]
        last = {**old, "metadata": {**metadata, "resourceVersion": str(self._version)}}
        self._record(resource, last, None)
        return last

    def _record(self, resource: Resource, old: Json | None, new: Json | None) -> None:
        self._history.setdefault(resource, []).append(_Change(self._version, old, new))
        self._changed.notify_all()


def _runs(resource: Resource, found: Json) -> bool:
    status = found.get("status", {})
    return (
        resource == PODS and "startTime" in status and status.get("phase") in ("Pending", "Running")
    )


def _event(change: _Change, matches: Matches) -> tuple[str, Json] | None:
    """What a watch with a selector sees of a change."""
    before = change.old is not None and matches(change.old)
    if change.new is not None and matches(change.new):
        return ("MODIFIED" if before else "ADDED"), change.new
    if not before:
        return None
    assert change.old is not None
    return "DELETED", change.new if change.new is not None else change.old


def _merge(target: object, patch: object) -> object:
    if not isinstance(patch, dict):
        return copy.deepcopy(patch)
    merged = dict(target) if isinstance(target, dict) else {}
    for key, value in patch.items():
        if value is None:
            merged.pop(key, None)
        else:
            merged[key] = _merge(merged.get(key), value)
    return merged


def accounts_of(workflow: Workflow) -> list[Json]:
    """Return the service accounts by which the pods of a workflow run, as objects."""
    name = workflow.pod and workflow.pod.service_account
    made = {"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": name}}
    return [made] if name else []
