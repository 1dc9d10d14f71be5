"""What an Argo Server does with its objects, but for running them.

What Argo's controller would make of a workflow is played back from what a test gives: a status, or
several one after the other (`Service.play`).
"""

from __future__ import annotations

import copy
import json
import threading
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from tests.fakes.kubernetes.selectors import selector
from tests.fakes.kubernetes.store import WORKFLOWS, ApiError, Resource, Store
from tests.support import argo_schema

Json = dict[str, Any]

ENDED = ("Succeeded", "Failed", "Error")
_COMPLETED = "workflows.argoproj.io/completed"
_PHASE = "workflows.argoproj.io/phase"

CRON_WORKFLOWS = Resource("argoproj.io", "v1alpha1", "cronworkflows")
OTHERS: Mapping[str, tuple[Resource, str, str]] = {
    "cron-workflows": (CRON_WORKFLOWS, "cronWorkflow", "CronWorkflow"),
    "workflow-templates": (
        Resource("argoproj.io", "v1alpha1", "workflowtemplates"),
        "template",
        "WorkflowTemplate",
    ),
    "cluster-workflow-templates": (
        Resource("argoproj.io", "v1alpha1", "clusterworkflowtemplates"),
        "template",
        "ClusterWorkflowTemplate",
    ),
}


class Log:
    """What a container writes."""

    def __init__(self) -> None:
        self._changed = threading.Condition()
        self._lines: list[str] = []
        self._ended = False

    def write(self, *lines: str) -> None:
        with self._changed:
            self._lines += lines
            self._changed.notify_all()

    def end(self) -> None:
        with self._changed:
            self._ended = True
            self._changed.notify_all()

    def read(self, follow: bool, is_closing: Callable[[], bool]) -> Iterator[str]:
        position = 0
        while True:
            with self._changed:
                while follow and not self._ended and position == len(self._lines):
                    if is_closing():
                        return
                    self._changed.wait(0.1)
                new = self._lines[position:]
                done = self._ended or not follow
            position += len(new)
            yield from new
            if done and position == len(self._lines):
                return


class Service:
    """The objects of an Argo Server."""

    def __init__(self) -> None:
        self.store = Store()
        self.logs: dict[tuple[str, str], Log] = {}
        """By pod and container."""
        self.asked: list[tuple[str, str]] = []
        """Method and path of all requests that were answered with a success."""
        self.done: list[tuple[str, str, Json]] = []
        """Action, name and body of all changes of workflows."""

    # what a test does ------------------------------------------------------------------------

    def log(self, pod: str, container: str = "main") -> Log:
        return self.logs.setdefault((pod, container), Log())

    def play(self, name: str, *statuses: Json, namespace: str = "default") -> None:
        """Let a workflow have these statuses, one after the other, as the controller does."""
        for status in statuses:

            def change(found: Json, status: Json = status) -> None:
                found["status"] = copy.deepcopy(status)
                phase = status.get("phase", "")
                labels = {**(found["metadata"].get("labels") or {}), _PHASE: phase}
                if phase in ENDED:
                    labels[_COMPLETED] = "true"
                found["metadata"]["labels"] = labels

            self.store.change(WORKFLOWS, namespace, name, change)

    # workflows -------------------------------------------------------------------------------

    def create(self, namespace: str, sent: Json) -> Json:
        workflow = sent.get("workflow")
        if workflow is None:
            raise ApiError(400, "BadRequest", "workflow body not specified")
        check(workflow, "Workflow")
        wanted = workflow["metadata"].get("namespace", namespace)
        if wanted != namespace:
            raise ApiError(400, "BadRequest", f"the namespace is {namespace}, not {wanted}")
        if sent.get("serverDryRun"):
            return {**workflow, "metadata": {**workflow["metadata"], "uid": "dry"}}
        return self.store.create(WORKFLOWS, namespace, workflow)

    def list(self, namespace: str, query: Mapping[str, str]) -> Json:
        return self._listed(WORKFLOWS, namespace, query)

    def _listed(self, resource: Resource, namespace: str, query: Mapping[str, str]) -> Json:
        matches = selector(
            namespace,
            query.get("listOptions.labelSelector", ""),
            query.get("listOptions.fieldSelector", ""),
        )
        version, items = self.store.list(resource, matches)
        metadata: Json = {"resourceVersion": str(version)}
        offset = int(query.get("listOptions.continue") or 0)
        limit = int(query.get("listOptions.limit") or 0)
        page = items[offset : offset + limit] if limit else items[offset:]
        if offset + len(page) < len(items):
            metadata["continue"] = str(offset + len(page))
        if query.get("fields") == "metadata":
            return {"metadata": metadata, "items": None}
        return {"metadata": metadata, "items": page or None}

    def act(self, namespace: str, name: str, action: str, sent: Json) -> Json:
        """Stop, retry and so on."""
        found = self.store.get(WORKFLOWS, namespace, name)
        phase = found.get("status", {}).get("phase", "")
        change = {
            "stop": lambda: _shut_down(found, phase, "Stop"),
            "terminate": lambda: _shut_down(found, phase, "Terminate"),
            "suspend": lambda: {"spec": {"suspend": True}},
            "resume": lambda: _resumed(found, sent, {}),
            "set": lambda: _resumed(found, sent, json.loads(sent.get("outputParameters") or "{}")),
            "retry": lambda: _retried(phase),
        }.get(action)
        if change is None:
            raise ApiError(404, "NotFound", "Not Found")
        patch = change()
        changed = self.store.patch(WORKFLOWS, namespace, name, patch)
        self.done.append((action, name, sent))
        return changed

    # what is kept beside ---------------------------------------------------------------------

    def other(
        self,
        collection: str,
        method: str,
        namespace: str,
        rest: list[str],
        sent: Json,
        query: Mapping[str, str],
    ) -> Json:
        """Answer for cron workflows and templates; `rest` is what follows the namespace."""
        resource, field, kind = OTHERS[collection]
        match method, rest:
            case "POST", ["lint"]:
                check(sent[field], kind)
                return dict(sent[field])
            case "POST", []:
                check(sent[field], kind)
                return self.store.create(resource, namespace, sent[field])
            case "GET", []:
                return self._listed(resource, namespace, query)
            case "DELETE", [name] if resource == CRON_WORKFLOWS:
                self.store.delete(resource, namespace, name)
                self.done.append(("delete", name, dict(query)))
                return {}
            case "GET", [name]:
                return self.store.get(resource, namespace, name)
            case "PUT", [name]:
                check(sent[field], kind)
                return self.store.update(resource, namespace, name, sent[field])
            case "PUT", [name, "suspend" | "resume" as action] if resource == CRON_WORKFLOWS:
                self.done.append((action, name, sent))
                return self.store.patch(
                    resource, namespace, name, {"spec": {"suspend": action == "suspend"}}
                )
        raise ApiError(404, "NotFound", "Not Found")


def check(manifest: Json, kind: str) -> None:
    """Refuse what the API server would, as far as the schemas are here."""
    if manifest.get("kind") not in (None, kind):
        raise ApiError(400, "BadRequest", f"not a {kind}: {manifest.get('kind')}")
    if not argo_schema.available():
        return
    problems = argo_schema.problems(
        {"apiVersion": "argoproj.io/v1alpha1", "kind": kind, **manifest}
    )
    if problems:
        raise ApiError(400, "BadRequest", f"{kind} is invalid: {'; '.join(problems)}")


def _shut_down(found: Json, phase: str, strategy: str) -> Json:
    if phase in ENDED:
        name = found["metadata"]["name"]
        message = f'cannot shutdown a completed workflow: workflow: "{name}", namespace: "default"'
        raise ApiError(500, "InternalError", message)
    return {"spec": {"shutdown": strategy}}


def _retried(phase: str) -> Json:
    if phase not in ("Failed", "Error"):
        raise ApiError(400, "BadRequest", f"Cannot retry a workflow in phase {phase}")
    labels = {_COMPLETED: None, _PHASE: None}
    status = {"phase": None, "message": None, "finishedAt": None}
    return {"metadata": {"labels": labels}, "status": status, "spec": {"shutdown": None}}


def _resumed(found: Json, sent: Json, entered: Mapping[str, str]) -> Json:
    wanted = sent.get("nodeFieldSelector", "")
    if not wanted:
        return {"spec": {"suspend": None}}
    node_id = wanted.removeprefix("id=")
    node = (found.get("status", {}).get("nodes") or {}).get(node_id)
    if node is None or node["type"] != "Suspend" or node["phase"] != "Running":
        message = f"no suspend nodes matching nodeFieldSelector: {wanted}"
        raise ApiError(500, "InternalError", message)
    outputs = copy.deepcopy(node.get("outputs") or {})
    known = {one["name"]: one for one in outputs.get("parameters") or ()}
    for name, value in entered.items():
        if name not in known:
            message = f"node is not expecting output parameter '{name}'"
            raise ApiError(500, "InternalError", message)
        known[name].pop("valueFrom", None)
        known[name]["value"] = value
    ended = {"phase": "Succeeded", "outputs": outputs}
    return {"status": {"nodes": {node_id: ended}}}
