"""Argo through the Argo Server's REST interface: `WorkflowApi` by its calls, and its streams."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from urllib.parse import quote

from couler.backends.argo import changing
from couler.backends.argo.argo_retry import runs_the_same
from couler.backends.argo.cluster_restart import refuse_running
from couler.backends.argo.reset import PutBack, has_ended
from couler.backends.argo.secrets import secret
from couler.backends.argo.status_nodes import read_nodes
from couler.backends.argo.workflow_api import (
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
from couler.errors import ConfigurationError, LostRunError, RefusedError
from couler.rest.answers import Shape, lacking
from couler.rest.client import Parameters, RestClient, RestError

_COLLECTIONS: Mapping[str, tuple[str, str]] = {
    "CronWorkflow": ("cron-workflows", "cronWorkflow"),
    "WorkflowTemplate": ("workflow-templates", "template"),
    "ClusterWorkflowTemplate": ("cluster-workflow-templates", "template"),
}
"""For each kind that the server keeps beside Workflows: its path, and its name in a call."""

_WORKFLOW: Shape = {"metadata.name": str, "spec": dict}
_LIST: Shape = {"metadata": dict, "items": {"metadata.name": str}}
_ANY: Shape = {}
"""Any object."""

_OWN = "workflows.argoproj.io/"
"""What the names of Argo's own labels and annotations begin with."""
_CLUSTER_WIDE = "ClusterWorkflowTemplate"


class ServerApi:
    """Argo in a namespace, through an Argo Server."""

    puts_back = False

    def __init__(self, client: RestClient, namespace: str) -> None:
        self._client = client
        self.namespace = namespace
        self.address = client.address
        self._told: dict[str, str] = {}
        """The version of the latest look at each Workflow."""

    # workflows -------------------------------------------------------------------------------

    def create(self, workflow: Json, *, dry_run: bool = False) -> Json:
        """Create a Workflow."""
        # To repeat it is safe where it has a name: what is there already is refused.
        repeat = bool(workflow["metadata"].get("name"))
        sent = {"namespace": self.namespace, "workflow": workflow, "serverDryRun": dry_run}
        expect = {"metadata.name": str}
        return self._client.call("POST", self._workflows, send=sent, repeat=repeat, expect=expect)

    def get(self, name: str) -> Json:
        """Return a Workflow."""
        found = self._client.call("GET", self._workflow(name), absent=[404], expect=_WORKFLOW)
        if found is None:
            raise lost(self, name)
        return found

    def snapshot(self, name: str) -> tuple[Json, str]:
        """Return a Workflow, and the version after which changes can be asked for."""
        # The server lists from a copy of its own, which may know less than it gives by name.
        params = {**_of_name(name), "fields": "metadata"}
        listed = self._client.call("GET", self._workflows, params=params, expect=_ANY)
        metadata = listed.get("metadata")
        found = self.get(name)
        version = str(found["metadata"].get("resourceVersion") or "")
        self._told[name] = version
        told = metadata.get("resourceVersion") if isinstance(metadata, dict) else None
        return found, told or version

    def watch(self, name: str, since: str) -> Iterator[Change]:
        """Yield a Workflow whenever it has changed."""
        path = f"/api/v1/workflow-events/{quote(self.namespace)}"
        params = {
            **_of_name(name),
            "listOptions.resourceVersion": since,
            "listOptions.timeoutSeconds": str(WATCH_S),
        }
        try:
            for event in results(self._client, path, params, idle_s=IDLE_S):
                lacks = lacking(event, {"object.metadata.resourceVersion": str})
                if lacks is not None:
                    raise self._no_change(path, lacks)
                found = event["object"]
                if event.get("type") == "DELETED":
                    raise lost(self, name)
                version = found["metadata"]["resourceVersion"]
                is_news = event.get("type") != "BOOKMARK" and self._is_newer(name, version)
                yield Change(version, found if is_news else None)
        except RestError as error:
            if error.code == 404:
                raise lost(self, name) from error
            raise

    def _no_change(self, path: str, lacks: str) -> RestError:
        reason = f"a change that is none: it lacks {lacks}"
        told = f"argo: the changes of {self.address}{path} ended: {reason}"
        return RestError(told, code=None, reason=reason)

    def _is_newer(self, name: str, version: str) -> bool:
        """Whether a version comes after what was given by name, which may be ahead of changes."""
        told = self._told.get(name, "")
        if told.isdecimal() and version.isdecimal():
            return int(version) > int(told)
        return version != told

    def children(self, uid: str) -> Sequence[Json]:
        """Return the Workflows that one has made of its parts."""
        found: list[Json] = []
        fields = "metadata,items.metadata"
        for one in self._list(self._workflows, f"{PARENT_LABEL}={uid}", fields):
            try:
                found.append(self.get(one["metadata"]["name"]))
            except LostRunError:  # it has gone meanwhile
                continue
        return found

    def restart(
        self,
        name: str,
        put_back: PutBack,
        *,
        is_changed: bool,
        first: Callable[[], object] = lambda: None,
    ) -> Json:
        """Begin parts of an ended Workflow again, where Argo's own retry does just that."""
        found = self.get(name)
        refuse_running(found)
        wanted = put_back(found)
        if is_changed or _arguments(found) != _arguments(wanted.workflow):
            raise self._beyond(name, "runs a changed workflow, or one with other parameters")
        if not runs_the_same(found, wanted.nodes):
            raise self._beyond(name, "runs other steps again than a retry of Argo's own would")
        first()
        try:
            # Not repeated: what has begun is refused the second time.
            return self._change(name, "retry", repeat=False)
        except RestError as error:
            return self._changed_after(error, name, lambda now: not has_ended(now))

    def _changed_after(self, error: RestError, name: str, is_done: Callable[[Json], bool]) -> Json:
        """Return a Workflow that was changed though an error was answered; else raise the error."""
        if isinstance(error, RefusedError):
            raise error
        try:
            now = self.get(name)
        except (RestError, ConfigurationError):
            # A refusal to be read is no refusal to be changed.
            raise error from None
        if not is_done(now):
            raise error
        return now

    def _beyond(self, name: str, what: str) -> RefusedError:
        return RefusedError(
            f"argo: this restart of {name} {what}, which the Argo Server cannot do. Reach Argo by "
            "the Kubernetes API for it: a target without server, and with a kubeconfig"
        )

    def delete(self, name: str) -> None:
        """Delete a Workflow and what belongs to it; nothing happens if there is none."""
        self._client.call("DELETE", self._workflow(name), absent=[404])

    def stop(self, name: str) -> None:
        """End a Workflow; its exit handlers run."""
        try:
            stopped = self._change(name, "stop")
        except RestError as error:
            if error.code in (400, 500) and has_ended(self.get(name)):
                return  # it has ended in between
            raise
        if (stopped.get("spec") or {}).get("suspend"):
            self._change(name, "resume")  # it would wait for ever

    def resume(self, name: str, node_id: str | None, entered: Mapping[str, str]) -> None:
        """Let a node of type Suspend go on, or a whole Workflow that is suspended."""
        action, fields = "resume", {}
        if node_id is not None:
            fields["nodeFieldSelector"] = f"id={node_id}"
        if node_id is not None and entered:
            action = "set"
            values = json.dumps(dict(entered), ensure_ascii=False)
            fields |= {"outputParameters": values, "phase": "Succeeded"}
        try:
            self._change(name, action, fields)
        except RestError as error:
            # What goes on already is refused the second time.
            self._changed_after(error, name, lambda now: _goes_on(now, node_id, entered))

    def _change(
        self,
        name: str,
        action: str,
        fields: Mapping[str, str] | None = None,
        *,
        repeat: bool = True,
    ) -> Json:
        sent = {"name": name, "namespace": self.namespace, **(fields or {})}
        path = f"{self._workflow(name)}/{action}"
        answer = self._client.call(
            "PUT", path, send=sent, repeat=repeat, absent=[404], expect={"metadata": dict}
        )
        if answer is None:
            raise lost(self, name)
        return answer

    # pods and other objects ------------------------------------------------------------------

    def logs(self, name: str, pod: str, container: str, *, follow: bool) -> Iterator[str]:
        """Yield the lines of a container of a pod."""
        params = given_params(
            podName=pod,
            **{
                "logOptions.container": container,
                "logOptions.follow": "true" if follow else None,
            },
        )
        path = f"{self._workflow(name)}/log"
        for entry in results(self._client, path, params, idle_s=LOG_IDLE_S):
            yield entry.get("content") or ""

    def put_secret(self, name: str, entries: Mapping[str, str]) -> None:
        """Refuse to make a secret: the server has no way."""
        self.apply(secret(name, entries))

    def apply(self, manifest: Json, *, dry_run: bool = False) -> Json:
        """Create an object that is no Workflow, or change the one with its kind and name."""
        kind, name = manifest.get("kind", ""), manifest.get("metadata", {}).get("name")
        if kind not in _COLLECTIONS or not name:
            raise RefusedError(
                f"argo: the Argo Server puts no {kind or 'object without a kind'} on a cluster; it "
                f"takes {', '.join(sorted(_COLLECTIONS))}. Create it with kubectl, or reach Argo "
                "by the Kubernetes API: a target without server"
            )
        collection, field = _COLLECTIONS[kind]
        scope = "" if kind == _CLUSTER_WIDE else f"/{quote(self.namespace)}"
        path = f"/api/v1/{collection}{scope}"
        sent = {"namespace": self.namespace, field: manifest}
        if dry_run:
            return self._client.call("POST", f"{path}/lint", send=sent, repeat=True, expect=_ANY)
        stored: Shape = {"metadata.resourceVersion": str}
        found = self._client.call("GET", f"{path}/{quote(name)}", absent=[404], expect=stored)
        if found is None:
            return self._client.call("POST", path, send=sent, expect=stored)
        sent = {**sent, "name": name, field: _renewed(manifest, found)}
        path = f"{path}/{quote(name)}"
        return self._client.call("PUT", path, send=sent, repeat=False, expect=stored)

    def own(self, manifest: Json, owner: Json) -> None:
        """Let an object go when all have gone that own it."""
        collection, field = _COLLECTIONS[manifest["kind"]]
        name = manifest["metadata"]["name"]
        path = f"/api/v1/{collection}/{quote(self.namespace)}/{quote(name)}"
        stored: Shape = {"metadata.resourceVersion": str}

        def read() -> Json:
            found = self._client.call("GET", path, absent=[404], expect=stored)
            return self.apply(manifest) if found is None else found

        def write(wanted: Json) -> Json:
            sent = {"namespace": self.namespace, "name": name, field: wanted}
            return self._client.call("PUT", path, send=sent, repeat=False, expect=stored)

        changing.change(name, lambda found: changing.owned(found, owner), read=read, write=write)

    def cron_workflow(self, name: str) -> Json | None:
        """Return a CronWorkflow; None if there is none."""
        path = f"{self._crons}/{quote(name)}"
        return self._client.call("GET", path, absent=[404], expect=_WORKFLOW)

    def cron_workflows(self, label: str) -> Sequence[Json]:
        """Return the CronWorkflows that have a label."""
        return self._list(self._crons, label)

    def remove_cron_workflow(self, name: str, *, policy: str) -> None:
        """Delete a CronWorkflow; nothing happens if there is none."""
        params = {"deleteOptions.propagationPolicy": policy}
        self._client.call("DELETE", f"{self._crons}/{quote(name)}", params=params, absent=[404])

    def set_suspended(self, cron_workflow: str, suspended: bool) -> None:
        """Let a CronWorkflow begin no more runs, or begin them again."""
        action = "suspend" if suspended else "resume"
        path = f"{self._crons}/{quote(cron_workflow)}/{action}"
        sent = {"name": cron_workflow, "namespace": self.namespace}
        if self._client.call("PUT", path, send=sent, absent=[404]) is None:
            raise lost(self, cron_workflow, "CronWorkflow")

    # -----------------------------------------------------------------------------------------

    @property
    def _workflows(self) -> str:
        return f"/api/v1/workflows/{quote(self.namespace)}"

    @property
    def _crons(self) -> str:
        return f"/api/v1/cron-workflows/{quote(self.namespace)}"

    def _list(self, path: str, label: str, fields: str | None = None) -> list[Json]:
        return list_all(
            self._client, path, label, expect=_LIST, prefix="listOptions.", fields=fields
        )

    def _workflow(self, name: str) -> str:
        return f"{self._workflows}/{quote(name)}"


def _renewed(manifest: Json, found: Json) -> Json:
    """Return an object in the place of another, with what Argo has noted down in that."""
    metadata = {**manifest["metadata"]}
    metadata["resourceVersion"] = found["metadata"]["resourceVersion"]
    for kind in ("labels", "annotations"):
        before = found["metadata"].get(kind) or {}
        own = {key: value for key, value in before.items() if key.startswith(_OWN)}
        if own:
            metadata[kind] = {**own, **(metadata.get(kind) or {})}
    owners = found["metadata"].get("ownerReferences")
    if owners:
        metadata["ownerReferences"] = owners
    status = {"status": found["status"]} if "status" in found else {}
    return {**manifest, "metadata": metadata, **status}


def _of_name(name: str) -> dict[str, str]:
    return {"listOptions.fieldSelector": f"metadata.name={name}"}


def _goes_on(workflow: Json, node_id: str | None, entered: Mapping[str, str]) -> bool:
    """Return whether a node of type Suspend, or a whole Workflow, goes on with what is entered."""
    if node_id is None:
        return not workflow["spec"].get("suspend")
    node = read_nodes(workflow).get(node_id)
    if node is None or node.get("phase") == "Running":
        return False
    given = (node.get("outputs") or {}).get("parameters") or ()
    values = {one["name"]: one.get("value") for one in given}
    return all(values.get(name) == value for name, value in entered.items())


def _arguments(workflow: Json) -> dict[str, Json]:
    given = (workflow["spec"].get("arguments") or {}).get("parameters") or ()
    return {one["name"]: one.get("value") for one in given}


_EVENTS = "text/event-stream"
_DATA = "data:"
_TOO_OLD = ("too old resource version", "resource version is too old")
_GRPC_EXHAUSTED = 8


def results(client: RestClient, path: str, params: Parameters, *, idle_s: float) -> Iterator[Json]:
    """Yield the results of a stream until the server ends it."""
    try:
        for line in client.lines(path, params=params, accept=_EVENTS, idle_s=idle_s):
            text = _data(line)
            if text is None:
                continue
            told = _read(client, path, text)
            if isinstance(told.get("result"), dict):
                yield told["result"]
            elif _raise_unless_ended(client, path, told.get("error") or told):
                return
    except RestError as error:
        if error.code == 400 and any(one in error.reason for one in _TOO_OLD):
            raise RestError(str(error), code=410, reason=error.reason) from error
        raise


def _data(line: str) -> str | None:
    """Return what a line holds; None for the end of an event, comments and names of events."""
    if line.startswith(_DATA):
        return line.removeprefix(_DATA).strip() or None
    return line if line.startswith("{") else None


def _read(client: RestClient, path: str, text: str) -> Json:
    try:
        told = json.loads(text)
    except ValueError:
        told = None
    if not isinstance(told, dict):
        raise _error(client, path, None, "a line that is no JSON: it was cut off")
    return told


def _raise_unless_ended(client: RestClient, path: str, error: Json) -> bool:
    if not isinstance(error, dict):
        error = {"message": error}
    code, reason = error.get("http_code"), str(error.get("message") or "no reason is given")
    if error.get("grpc_code", error.get("code")) == _GRPC_EXHAUSTED and reason == "EOF":
        return True
    raise _error(client, path, code if isinstance(code, int) else None, reason)


def _error(client: RestClient, path: str, code: int | None, reason: str) -> RestError:
    return RestError(
        f"{client.engine}: the stream of {client.address}{path} ended: {reason}",
        code=code,
        reason=reason,
    )
