"""The Workflow of an ended run, put back so that Argo's controller runs some of its steps again."""

from __future__ import annotations

import copy
import json
import typing as t
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, replace
from datetime import UTC, datetime

from couler.backends.argo.restart import Fates, decide
from couler.backends.argo.status_nodes import read_nodes, with_nodes
from couler.backends.argo.workflow_api import CANCELLED_LABEL, COMPLETED_LABEL
from couler.backends.remote import Json

_DROPPED_LABELS = (
    COMPLETED_LABEL,
    "workflows.argoproj.io/phase",
    "workflows.argoproj.io/workflow-archiving-status",
    CANCELLED_LABEL,
)
_LARGEST = 1 << 20
"""How many bytes of JSON a Workflow has at most before Argo compresses its nodes."""

_LONGEST_POD_PREFIX = 242
"""Kubernetes takes 253 characters (RFC 1123), Argo's hash ten and a hyphen."""


@dataclass(frozen=True, slots=True)
class Reset:
    """What is done to begin parts of a run again."""

    workflow: Json
    nodes: frozenset[str]
    pods: tuple[str, ...]
    family: Mapping[str, PutBack]


PutBack: t.TypeAlias = Callable[[Json], Reset]
"""From a Workflow that has ended to what begins parts of it again."""


def has_ended(workflow: Json) -> bool:
    """Return whether Argo's controller is done with a Workflow."""
    labels = (workflow.get("metadata") or {}).get("labels") or {}
    return labels.get(COMPLETED_LABEL) == "true"


def reset(
    workflow: Json,
    spec: Json,
    paths: Mapping[str, str],
    again: Collection[str],
    *,
    now: datetime | None = None,
) -> Reset:
    """Return what begins parts of an ended run again."""
    before = effective_spec(workflow)
    after = before if "workflowTemplateRef" in spec else spec
    name: str = workflow["metadata"]["name"]
    fates = decide(name, read_nodes(workflow), before, after, paths, again)
    return reset_by(fates, workflow, spec, now=now)


def reset_by(fates: Fates, workflow: Json, spec: Json, *, now: datetime | None = None) -> Reset:
    """Return what begins an ended run again of whose nodes it is known what becomes of them."""
    name: str = workflow["metadata"]["name"]
    nodes = read_nodes(workflow)
    surgery = _Surgery(name, nodes, fates, _time(now or datetime.now(UTC)))
    pods = sorted(
        pod_name(name, node)
        for key, node in nodes.items()
        if key in surgery.gone and node["type"] == "Pod"
    )
    status = _status(workflow["status"], surgery)
    new = {**_metadata_cleared(workflow), "spec": spec, "status": status}
    return Reset(_packed(new, surgery.result()), frozenset(surgery.gone), tuple(pods), {})


_GC_FINALIZER = "workflows.argoproj.io/artifact-gc"


def held(found: Reset) -> Reset:
    """The same for a Workflow that is not to begin before the label of its end is taken off."""
    metadata = found.workflow["metadata"]
    labels = {**metadata["labels"], COMPLETED_LABEL: "true"}
    finalizers = [one for one in metadata.get("finalizers") or () if one != _GC_FINALIZER]
    metadata = {**metadata, "labels": labels, "finalizers": finalizers}
    status = {
        key: value
        for key, value in found.workflow["status"].items()
        if key != "storedWorkflowTemplateSpec"
    }
    return replace(found, workflow={**found.workflow, "metadata": metadata, "status": status})


def effective_spec(workflow: Json) -> Json:
    """Return the spec that a run has had: its own, or the stored one that it refers to."""
    stored = (workflow.get("status") or {}).get("storedWorkflowTemplateSpec")
    return workflow["spec"] if stored is None else stored


def pod_name(workflow: str, node: Json) -> str:
    """Return the name of the pod of a node."""
    if node["name"] == workflow:
        return workflow
    template = (node.get("templateRef") or {}).get("template") or node.get("templateName") or ""
    prefix = f"{workflow}-{template}" if template else workflow
    return f"{prefix[:_LONGEST_POD_PREFIX]}-{_hash(node['name'])}"


class _Surgery:
    """Takes nodes out, opens others, and mends what refers to them."""

    def __init__(self, name: str, nodes: Mapping[str, Json], fates: Fates, now: str) -> None:
        self._name = name
        self._fates = fates
        self.now = now
        self.gone = {key for key, node in nodes.items() if fates.goes(node["name"])}
        self.opened = {key for key, node in nodes.items() if node["name"] in fates.opened}
        self._stays = {key: copy.deepcopy(node) for key, node in nodes.items()}
        for key in self.gone:
            del self._stays[key]
        self.old = {key: nodes[key] for key in self.gone | self.opened}

    def result(self) -> dict[str, Json]:
        """Return the nodes of the Workflow after the reset."""
        for key, node in self._stays.items():
            for field in ("children", "outboundNodes"):
                if node.get(field):
                    node[field] = [one for one in node[field] if one not in self.gone]
            if key in self.opened:
                self._open(node)
        self._connect()
        return self._renumbered()

    def _open(self, node: Json) -> None:
        for field in ("finishedAt", "message", "outboundNodes", "outputs", "progress"):
            node.pop(field, None)
        node.update(phase="Running", startedAt=self.now, finishedAt=None)

    def _connect(self) -> None:
        """Hang nodes that nothing leads to any more below the node of their template."""
        led_to = {one for node in self._stays.values() for one in node.get("children") or ()}
        for key, node in self._stays.items():
            boundary = self._stays.get(node.get("boundaryID") or "")
            if key not in led_to and boundary is not None:
                boundary.setdefault("children", []).append(key)

    def _renumbered(self) -> dict[str, Json]:
        if not self._fates.first:
            return self._stays
        names = {node["name"]: self._new_name(node["name"]) for node in self._stays.values()}
        ids = {key: self._node_id(names[node["name"]]) for key, node in self._stays.items()}
        for node in self._stays.values():
            if node["name"] in self._fates.first:
                node["displayName"] = f"{node['displayName'].rpartition('(')[0]}(0)"
            node["name"] = names[node["name"]]
            node["id"] = ids[node["id"]]
            if node.get("boundaryID"):
                node["boundaryID"] = ids.get(node["boundaryID"], node["boundaryID"])
            for field in ("children", "outboundNodes"):
                if node.get(field):
                    node[field] = [ids.get(one, one) for one in node[field]]
        return {node["id"]: node for node in self._stays.values()}

    def _new_name(self, name: str) -> str:
        for attempt in sorted(self._fates.first, key=len, reverse=True):
            if name == attempt or name.startswith(f"{attempt}."):
                name = f"{attempt.rpartition('(')[0]}(0){name[len(attempt) :]}"
        return name

    def _node_id(self, name: str) -> str:
        return name if name == self._name else f"{self._name}-{_hash(name)}"


def _status(status: Json, surgery: _Surgery) -> Json:
    """Return a status of a run that is to be taken up, still with the old nodes."""
    new = copy.deepcopy({key: value for key, value in status.items() if key != "nodes"})
    for field in ("phase", "message", "finishedAt", "progress", "persistentVolumeClaims"):
        new.pop(field, None)
    new["startedAt"] = surgery.now
    new["finishedAt"] = None
    synced = new.get("taskResultsCompletionStatus")
    if synced:
        new["taskResultsCompletionStatus"] = {
            key: value for key, value in synced.items() if key not in surgery.gone
        }
    for condition in new.get("conditions") or ():
        if condition["type"] == "Completed":
            condition["status"] = "False"
    _forget_global_outputs(new, surgery.old.values())
    if (new.get("storedWorkflowTemplateSpec") or {}).get("shutdown"):
        del new["storedWorkflowTemplateSpec"]["shutdown"]
    return new


def _forget_global_outputs(status: Json, nodes: Collection[Json]) -> None:
    """Leave out what nodes that run again gave to the whole run; they may not give it again."""
    for kind in ("parameters", "artifacts"):
        names = {
            given["globalName"]
            for node in nodes
            for given in (node.get("outputs") or {}).get(kind) or ()
            if given.get("globalName")
        }
        outputs = status.get("outputs") or {}
        if outputs.get(kind):
            outputs[kind] = [one for one in outputs[kind] if one["name"] not in names]


def _metadata_cleared(workflow: Json) -> Json:
    metadata = {key: value for key, value in workflow["metadata"].items() if key != "managedFields"}
    labels = metadata.get("labels") or {}
    metadata["labels"] = {key: labels[key] for key in labels if key not in _DROPPED_LABELS}
    return {**workflow, "metadata": metadata}


def _packed(workflow: Json, nodes: Mapping[str, Json]) -> Json:
    """Return a Workflow with nodes, compressed if they were or if it is large."""
    new = with_nodes(workflow, nodes)
    if not new["status"].get("compressedNodes"):
        text = json.dumps(new, ensure_ascii=False, separators=(",", ":"))
        if len(text.encode()) > _LARGEST:
            status = {**workflow["status"], "compressedNodes": "so that it is compressed"}
            status.pop("nodes", None)
            return with_nodes({**workflow, "status": status}, nodes)
    return new


def _time(moment: datetime) -> str:
    return moment.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def _hash(text: str) -> int:
    """Return FNV-1a with 32 bits, of which Argo makes names."""
    value = 0x811C9DC5
    for byte in text.encode():
        value = ((value ^ byte) * 0x01000193) & 0xFFFFFFFF
    return value
