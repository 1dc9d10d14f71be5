"""Argo through the Kubernetes API: `WorkflowApi` in terms of objects of the cluster."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import UTC, datetime

from couler.backends.argo import changing
from couler.backends.argo.cluster_restart import RestartChange, Settled
from couler.backends.argo.reset import PutBack
from couler.backends.argo.secrets import put_secret
from couler.backends.argo.status_nodes import read_nodes, with_nodes
from couler.backends.argo.workflow_api import (
    CANCELLED_LABEL,
    IDLE_S,
    LOG_IDLE_S,
    PARENT_LABEL,
    WATCH_S,
    Change,
    given_params,
    list_all,
    lost,
)
from couler.backends.remote import Json
from couler.cluster.objects import PLURALS
from couler.errors import EngineError, RefusedError
from couler.rest.answers import Shape, lacking
from couler.rest.client import RestClient, RestError

FIELD_MANAGER = "couler"
_MANAGED = {"fieldManager": FIELD_MANAGER}

_GROUP = "argoproj.io/v1alpha1"
_PLURALS: Mapping[tuple[str, str], str] = {
    (_GROUP, "Workflow"): "workflows",
    (_GROUP, "CronWorkflow"): "cronworkflows",
    (_GROUP, "WorkflowTemplate"): "workflowtemplates",
    (_GROUP, "ClusterWorkflowTemplate"): "clusterworkflowtemplates",
    ("v1", "ConfigMap"): "configmaps",
    ("v1", "PersistentVolumeClaim"): "persistentvolumeclaims",
    ("v1", "Secret"): "secrets",
    ("v1", "Service"): "services",
}
_CLUSTER_WIDE = frozenset({"ClusterWorkflowTemplate"})

WORKFLOW: Shape = {"metadata.name": str, "spec": dict}
"""What an answer must have to be a Workflow."""

_LIST: Shape = {"metadata.resourceVersion": str, "items": WORKFLOW}
_OBJECT: Shape = {"metadata.name": str}
_VERSIONS: Shape = {"metadata.resourceVersion": str, "items": _OBJECT}
_VERSION: Shape = {"metadata.resourceVersion": str}

_APPLY = "application/apply-patch+yaml"
_MERGE = "application/merge-patch+json"


class ClusterApi:
    """Argo in a namespace of a cluster, through the Kubernetes API."""

    puts_back = True

    def __init__(self, client: RestClient, namespace: str) -> None:
        self._client = client
        self.namespace = namespace
        self.address = client.address
        self._settled: Settled = set()

    def in_namespace(self, namespace: str) -> ClusterApi:
        """Return the same for another namespace."""
        return ClusterApi(self._client, namespace)

    # workflows -------------------------------------------------------------------------------

    def create(self, workflow: Json, *, dry_run: bool = False) -> Json:
        """Create a Workflow."""
        # To repeat it is safe where it has a name: what is there already is refused.
        repeat = bool(workflow["metadata"].get("name"))
        params = given_params(fieldManager=FIELD_MANAGER, dryRun="All" if dry_run else None)
        path = self._path("Workflow")
        return self._client.call(
            "POST", path, send=workflow, params=params, repeat=repeat, expect=WORKFLOW
        )

    def get(self, name: str) -> Json:
        """Return a Workflow."""
        path = self._path("Workflow", name)
        found = self._client.call("GET", path, absent=[404], expect=WORKFLOW)
        if found is None:
            raise lost(self, name)
        return found

    def snapshot(self, name: str) -> tuple[Json, str]:
        """Return a Workflow, and the version after which its changes can be asked for."""
        params = {"fieldSelector": f"metadata.name={name}"}
        answer = self._client.call("GET", self._path("Workflow"), params=params, expect=_LIST)
        if not answer.get("items"):
            raise lost(self, name)
        found = {"apiVersion": _GROUP, "kind": "Workflow", **answer["items"][0]}
        return found, answer["metadata"]["resourceVersion"]

    def watch(self, name: str, since: str) -> Iterator[Change]:
        """Yield a Workflow whenever it has changed."""
        params: dict[str, str | int | bool] = {
            "watch": "true",
            "fieldSelector": f"metadata.name={name}",
            "resourceVersion": since,
            "allowWatchBookmarks": "true",
            "timeoutSeconds": WATCH_S,
        }
        path = self._path("Workflow")
        for line in self._client.lines(path, params=params, idle_s=IDLE_S):
            kind, found = self._event(path, line)
            if kind == "DELETED":
                raise lost(self, name)
            version = found["metadata"]["resourceVersion"]
            yield Change(version, None if kind == "BOOKMARK" else found)

    def _event(self, path: str, line: str) -> tuple[str, Json]:
        try:
            event = json.loads(line)
        except ValueError as error:
            raise self._error(path, None, "a change that is no JSON: it was cut off") from error
        lacks = lacking(event, {"type": str, "object": dict})
        if lacks is None and event["type"] == "ERROR":
            told = event["object"]
            raise self._error(path, told.get("code"), told.get("message") or "no reason is given")
        if lacks is None:
            lacks = lacking(event["object"], _VERSION)
        if lacks is not None:
            raise self._error(path, None, f"a change that is none: it lacks {lacks}")
        return event["type"], event["object"]

    def children(self, uid: str) -> Sequence[Json]:
        """Return the Workflows that one has made of its parts."""
        return list_all(self._client, self._path("Workflow"), f"{PARENT_LABEL}={uid}", expect=_LIST)

    def replace(self, workflow: Json) -> Json:
        """Put a whole Workflow in the place of the one with its name."""
        path = self._path("Workflow", workflow["metadata"]["name"])
        params = {"fieldManager": FIELD_MANAGER}
        return self._client.call("PUT", path, send=workflow, params=params, expect=WORKFLOW)

    def restart(
        self,
        name: str,
        put_back: PutBack,
        *,
        is_changed: bool,
        first: Callable[[], object] = lambda: None,
    ) -> Json:
        """Begin parts of an ended Workflow again."""
        change = RestartChange(
            self._client,
            self.namespace,
            name,
            put_back,
            read=self.get,
            settled=self._settled,
            first=first,
        )
        return self.change(name, change)

    def change(self, name: str, change: Callable[[Json], Json | None]) -> Json:
        """Change a Workflow, again if another change came before."""
        return changing.change(name, change, read=lambda: self.get(name), write=self.replace)

    def delete(self, name: str) -> None:
        """Delete a Workflow and its pods; nothing happens if there is none."""
        self.remove("Workflow", name)

    def remove(
        self, kind: str, name: str, *, policy: str = "Background", grace_s: int | None = None
    ) -> bool:
        """Delete an object of Argo's, and return whether there was one."""
        options: Json = {"apiVersion": "v1", "kind": "DeleteOptions", "propagationPolicy": policy}
        if grace_s is not None:
            options["gracePeriodSeconds"] = grace_s
        path = self._path(kind, name)
        return self._client.call("DELETE", path, send=options, absent=[404]) is not None

    def stop(self, name: str) -> None:
        """End a Workflow; its exit handlers run."""
        found = self.get(name)
        spec = found["spec"]
        has_begun = bool((found.get("status") or {}).get("startedAt"))
        # Argo reads the time of a stored workflow only once, when it begins.
        if not spec.get("onExit") or not has_begun or "workflowTemplateRef" in spec:
            # One that is suspended as a whole would wait for ever.
            self._patch("Workflow", name, {"spec": {"shutdown": "Stop", "suspend": None}})
            return
        marks = {"labels": {CANCELLED_LABEL: "true"}}
        patch = {"metadata": marks, "spec": {"activeDeadlineSeconds": 0, "suspend": None}}
        self._patch("Workflow", name, patch)

    def resume(self, name: str, node_id: str | None, entered: Mapping[str, str]) -> None:
        """Let a node of type Suspend go on, or a whole Workflow that is suspended."""
        if node_id is None:
            self._patch("Workflow", name, {"spec": {"suspend": None}})
        else:
            node = node_id
            self.change(name, lambda found: _resumed(found, node, entered))

    # pods and other objects ------------------------------------------------------------------

    def logs(self, name: str, pod: str, container: str, *, follow: bool) -> Iterator[str]:
        """Yield the lines of a container of a pod."""
        path = f"/api/v1/namespaces/{self.namespace}/pods/{pod}/log"
        params = given_params(container=container, follow="true" if follow else None)
        yield from self._client.lines(path, params=params, accept="*/*", idle_s=LOG_IDLE_S)

    def put_secret(self, name: str, entries: Mapping[str, str]) -> None:
        """Make a secret, or renew one that was made from here; those of others are refused."""
        put_secret(self._client, self.namespace, FIELD_MANAGER, name, entries)

    def apply(self, manifest: Json, *, dry_run: bool = False) -> Json:
        """Create an object, or change the one with its kind and name (server-side apply)."""
        path = self._path_of(manifest)
        dry = "All" if dry_run else None
        params = given_params(fieldManager=FIELD_MANAGER, force="true", dryRun=dry)
        return self._client.call(
            "PATCH",
            path,
            send=manifest,
            content_type=_APPLY,
            params=params,
            repeat=True,
            expect=_OBJECT,
        )

    def own(self, manifest: Json, owner: Json) -> None:
        """Let an object go when all have gone that own it."""
        path = self._path_of(manifest)

        def read() -> Json:
            found = self._client.call("GET", path, absent=[404], expect=_VERSION)
            return self.apply(manifest) if found is None else found

        def write(wanted: Json) -> Json:
            params = {"fieldManager": FIELD_MANAGER}
            return self._client.call("PUT", path, send=wanted, params=params, expect=_OBJECT)

        name = manifest["metadata"]["name"]
        changing.change(name, lambda found: changing.owned(found, owner), read=read, write=write)

    def workflows(self) -> Sequence[Json]:
        """Return all Workflows."""
        return list_all(self._client, self._path("Workflow"), expect=_LIST)

    def config_maps(self, label: str) -> Sequence[Json]:
        """Return the config maps that have a label."""
        return list_all(
            self._client, self._path("ConfigMap", version="v1"), label, expect=_VERSIONS
        )

    def config_map(self, name: str) -> Json | None:
        """Return a config map; None if there is none."""
        path = self._path("ConfigMap", name, "v1")
        return self._client.call("GET", path, absent=[404], expect=_VERSION)

    def put_config_map(self, found: Json) -> Json:
        """Put a config map in the place of the one of its name and version."""
        path = self._path("ConfigMap", found["metadata"]["name"], "v1")
        params = {"fieldManager": FIELD_MANAGER}
        return self._client.call("PUT", path, send=found, params=params, expect=_OBJECT)

    def nodes(self) -> Sequence[Json]:
        """Return the nodes of the cluster, which are in no namespace."""
        try:
            return list_all(self._client, "/api/v1/nodes", expect=_VERSIONS)
        except RestError as error:
            if error.code != 403:
                raise
            raise RefusedError(
                f"{error}. Nodes belong to no namespace: the account needs a ClusterRole that "
                "allows `list` of `nodes`"
            ) from error

    def cron_workflow(self, name: str) -> Json | None:
        """Return a CronWorkflow; None if there is none."""
        path = self._path("CronWorkflow", name)
        return self._client.call("GET", path, absent=[404], expect=WORKFLOW)

    def cron_workflows(self, label: str) -> Sequence[Json]:
        """Return the CronWorkflows that have a label."""
        return list_all(self._client, self._path("CronWorkflow"), label, expect=_LIST)

    def remove_cron_workflow(self, name: str, *, policy: str) -> None:
        """Delete a CronWorkflow; nothing happens if there is none."""
        self.remove("CronWorkflow", name, policy=policy)

    def set_suspended(self, cron_workflow: str, suspended: bool) -> None:
        """Let a CronWorkflow begin no more runs, or begin them again."""
        self._patch("CronWorkflow", cron_workflow, {"spec": {"suspend": suspended}})

    # -----------------------------------------------------------------------------------------

    def _patch(self, kind: str, name: str, patch: Json) -> None:
        answer = self._client.call(
            "PATCH",
            self._path(kind, name),
            send=patch,
            content_type=_MERGE,
            params={"fieldManager": FIELD_MANAGER},
            repeat=True,  # the same patch twice is the patch
            absent=[404],
            expect=_OBJECT,
        )
        if answer is None:
            raise lost(self, name, kind)

    def _path_of(self, manifest: Json) -> str:
        version, kind = manifest.get("apiVersion", ""), manifest.get("kind", "")
        name = manifest.get("metadata", {}).get("name")
        if (version, kind) not in _PLURALS or not name:
            known = ", ".join(sorted(kind for _, kind in _PLURALS))
            raise RefusedError(
                f"argo: {kind or 'an object'} of {version or 'no version'} is none that is put on "
                f"a cluster from here; these are: {known}"
            )
        wanted = manifest["metadata"].get("namespace")
        if wanted not in (None, self.namespace):
            raise RefusedError(
                f"argo: the {kind} {name} is of the namespace {wanted}, but the target is "
                f"{self.namespace}"
            )
        return self._path(kind, name, version)

    def _path(self, kind: str, name: str | None = None, version: str = _GROUP) -> str:
        root = f"/apis/{version}" if "/" in version else f"/api/{version}"
        scope = "" if kind in _CLUSTER_WIDE else f"/namespaces/{self.namespace}"
        path = f"{root}{scope}/{_PLURALS[version, kind]}"
        return path if name is None else f"{path}/{name}"

    def _error(self, path: str, code: int | None, reason: str) -> RestError:
        return RestError(
            f"argo: the changes of {self.address}{path} ended: {reason}", code=code, reason=reason
        )


class KubernetesObjects:
    """Training jobs and config maps of a namespace, see `ClusterObjects`."""

    def __init__(self, client: RestClient, namespace: str) -> None:
        self._client = client
        self._namespace = namespace

    def get(self, kind: str, name: str) -> Json | None:
        """Return an object."""
        return self._client.call(
            "GET", self._path(kind, name), absent=[404], expect={"metadata.name": str}
        )

    def create(self, manifest: Json) -> Json | None:
        """Create an object, if it is not there."""
        path = self._path(manifest["kind"])
        return self._client.call(
            "POST", path, send=manifest, params=_MANAGED, repeat=True, absent=[409]
        )

    def patch(self, kind: str, name: str, patch: Json) -> None:
        """Change fields of an object."""
        self._client.call(
            "PATCH",
            self._path(kind, name),
            send=patch,
            content_type=_MERGE,
            params=_MANAGED,
            repeat=True,  # the same patch twice is the patch
            absent=[404],
        )

    def replace(self, manifest: Json) -> Json:
        """Replace the object of its version."""
        name = manifest["metadata"]["name"]
        try:
            path = self._path(manifest["kind"], name)
            return self._client.call("PUT", path, send=manifest, params=_MANAGED)
        except RestError as error:
            if error.code != 409:
                raise
            found = self.get(manifest["kind"], name)
            if found is not None and found.get("data") == manifest["data"]:
                return found  # an answer was lost, and this was asked for again
            raise EngineError(
                f"another process has changed the {manifest['kind']} {name}: is the plan being "
                "carried out elsewhere?"
            ) from error

    def delete(self, kind: str, name: str) -> None:
        """Delete an object after its pods, so that they are gone when it is."""
        options = {
            "apiVersion": "v1",
            "kind": "DeleteOptions",
            "propagationPolicy": "Foreground",
        }
        self._client.call("DELETE", self._path(kind, name), send=options, absent=[404])

    def pods(self, label: str) -> Sequence[Json]:
        """Return the pods that have a label."""
        path = f"/api/v1/namespaces/{self._namespace}/pods"
        found: Sequence[Json] = self._client.call("GET", path, params={"labelSelector": label})[
            "items"
        ]
        return found

    def log(self, pod: str, container: str, lines: int) -> Iterator[str]:
        """Yield the last lines of the log of a container."""
        path = f"/api/v1/namespaces/{self._namespace}/pods/{pod}/log"
        params: dict[str, str | int | bool] = {"container": container, "tailLines": lines}
        yield from self._client.lines(path, params=params, accept="*/*", absent=[400, 404])

    def _path(self, kind: str, name: str | None = None) -> str:
        version, plural = PLURALS[kind]
        root = f"/apis/{version}" if "/" in version else f"/api/{version}"
        path = f"{root}/namespaces/{self._namespace}/{plural}"
        return path if name is None else f"{path}/{name}"


def _resumed(workflow: Json, node_id: str, entered: Mapping[str, str]) -> Json | None:
    """Return a Workflow in which a node that waits for a person has ended."""
    name = workflow["metadata"]["name"]
    nodes = read_nodes(workflow)
    node = nodes.get(node_id)
    if node is None or node["type"] != "Suspend" or node.get("phase") != "Running":
        raise EngineError(f"argo: nothing waits to be resumed in the workflow {name} there")
    outputs = dict(node.get("outputs") or {})
    parameters = [_supplied(one, entered) for one in outputs.get("parameters") or ()]
    missing = [one["name"] for one in parameters if one.get("value") is None]
    if missing:
        raise EngineError(f"argo: values must be given for {', '.join(missing)}")
    if parameters:
        outputs["parameters"] = parameters
    now = datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
    ended = {**node, "phase": "Succeeded", "finishedAt": now}
    if outputs:
        ended["outputs"] = outputs
    return with_nodes(workflow, {**nodes, node_id: ended})


def _supplied(parameter: Json, entered: Mapping[str, str]) -> Json:
    """Return an output parameter with the value that was entered, else with its default."""
    source = parameter.get("valueFrom") or {}
    value = entered.get(parameter["name"], parameter.get("value", source.get("default")))
    kept = {key: each for key, each in parameter.items() if key != "valueFrom"}
    return parameter if value is None else {**kept, "value": value}
