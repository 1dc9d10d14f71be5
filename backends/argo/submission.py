"""From what was compiled to the objects that a run takes on a cluster."""

from __future__ import annotations

import hashlib
import json
import re
import typing as t
from collections.abc import Mapping

from couler.backends.argo.workflow_api import RUN_LABEL, SUBMISSION_MARK, WORKFLOW_LABEL
from couler.backends.base import Artifact, ArtifactFile
from couler.backends.remote import Json
from couler.errors import RefusedError
from couler.ir.yaml_loading import safe_loader

_API_VERSION = "argoproj.io/v1alpha1"
_NAME = re.compile(r"[a-z0-9](?:[-a-z0-9]*[a-z0-9])?(?:\.[a-z0-9](?:[-a-z0-9]*[a-z0-9])?)*")
_LABEL = re.compile(r"[A-Za-z0-9](?:[-A-Za-z0-9_.]*[A-Za-z0-9])?")
_LONGEST = 63
"""How long the name of a Workflow can be: its pods have it as a label."""

_MARKS = 20
"""How many submissions a Workflow is known to come of, besides the last."""

_TEMPLATE_KINDS = ("WorkflowTemplate", "ClusterWorkflowTemplate")


class Objects(t.NamedTuple):
    """What a run takes on a cluster."""

    workflow: Json
    others: tuple[Json, ...]
    """What must be there before it, in this order."""


def objects(
    artifact: Artifact, *, run_id: str, workflow: str, parameters: Mapping[str, str]
) -> Objects:
    """Return the objects of one run."""
    found = read_objects(artifact)
    workflows = [one for one in found if one.get("kind") == "Workflow"]
    others = [one for one in found if one.get("kind") != "Workflow"]
    if not workflows and others:
        started, stays = _started(others[-1])
        others = others[:-1] + ([others[-1]] if stays else [])
        workflows = [started]
    if len(workflows) != 1:
        raise RefusedError(f"argo: {len(workflows)} workflows are to be one run")
    named = with_labels(workflows[0], run_id=run_id, workflow=workflow)
    return Objects(with_parameters(named, parameters), tuple(others))


def read_objects(artifact: Artifact) -> list[Json]:
    """Return all objects of an artifact, those of lists one by one."""
    return [one for file in artifact.files for tree in _read(file) for one in _flat(tree)]


def _read(file: ArtifactFile) -> list[Json]:
    if file.name.endswith(".json"):
        return [json.loads(file.text)]
    import yaml

    # What is written reads the same under YAML 1.1.
    return [tree for tree in yaml.load_all(file.text, Loader=safe_loader()) if tree is not None]


def _flat(tree: Json) -> list[Json]:
    if tree.get("kind") == "List":
        return [one for item in tree.get("items") or () for one in _flat(item)]
    return [tree]


def _started(found: Json) -> tuple[Json, bool]:
    """Return the Workflow that an object stands for, and whether the object must be there too."""
    kind, name = found.get("kind"), found.get("metadata", {}).get("name")
    head: Json = {"apiVersion": _API_VERSION, "kind": "Workflow"}
    metadata: Json = {}
    if namespace := found.get("metadata", {}).get("namespace"):
        metadata["namespace"] = namespace
    if kind == "CronWorkflow":
        own = found["spec"].get("workflowMetadata") or {}
        metadata |= {key: own[key] for key in ("labels", "annotations") if key in own}
        return {**head, "metadata": metadata, "spec": found["spec"]["workflowSpec"]}, False
    if kind in _TEMPLATE_KINDS:
        reference: Json = {"name": name}
        if kind == "ClusterWorkflowTemplate":
            reference["clusterScope"] = True
        return {**head, "metadata": metadata, "spec": {"workflowTemplateRef": reference}}, True
    raise RefusedError(f"argo: a {kind} is nothing that runs")


def with_labels(found: Json, *, run_id: str, workflow: str) -> Json:
    """Return a Workflow with the name and the marks of a run."""
    metadata = {key: value for key, value in found["metadata"].items() if key != "generateName"}
    labels = {RUN_LABEL: label_value(run_id), WORKFLOW_LABEL: label_value(workflow)}
    metadata["name"] = object_name(run_id)
    metadata["labels"] = {**metadata.get("labels", {}), **labels}
    # Labels may lack characters that names have.
    marks = {RUN_LABEL: run_id, WORKFLOW_LABEL: workflow}
    metadata["annotations"] = {**metadata.get("annotations", {}), **marks}
    return {**found, "metadata": metadata}


def with_mark(found: Json, digest: str) -> Json:
    """Return a Workflow that says what it was submitted with, beside what it has said before."""
    metadata = found["metadata"]
    annotations = metadata.get("annotations") or {}
    marks = [one for one in _marks(found) if one != digest][-_MARKS:]
    marked = {**annotations, SUBMISSION_MARK: " ".join([*marks, digest])}
    return {**found, "metadata": {**metadata, "annotations": marked}}


def refuse_other(found: Json, wanted: Json, namespace: str) -> None:
    """Refuse a Workflow of a cluster that does not come of the same submission as a wanted one."""
    name, run_id = wanted["metadata"]["name"], wanted["metadata"]["annotations"][RUN_LABEL]
    metadata = found.get("metadata") or {}
    there = f"argo: the namespace {namespace} has"
    if (metadata.get("annotations") or {}).get(RUN_LABEL) != run_id:
        raise RefusedError(
            f"{there} a Workflow {name} already, which is not the run {run_id}. Give the run "
            "another name, or delete that Workflow"
        )
    if metadata.get("deletionTimestamp"):
        raise RefusedError(
            f"argo: the Workflow {name} in the namespace {namespace}, of an earlier run of this "
            "name, is being deleted. Submit it again when it is gone, or give the run another name"
        )
    if not set(_marks(wanted)) <= set(_marks(found)):
        raise RefusedError(
            f"{there} a run {run_id} already, of another workflow or with other parameters, "
            "submitted from elsewhere. Give this one another name (--name)"
        )


def _marks(found: Json) -> list[str]:
    annotations = (found.get("metadata") or {}).get("annotations") or {}
    return str(annotations.get(SUBMISSION_MARK, "")).split()


def with_parameters(found: Json, parameters: Mapping[str, str]) -> Json:
    """Return a Workflow with arguments, as `argo submit -p` sets them."""
    if not parameters:
        return found
    arguments = found["spec"].get("arguments") or {}
    declared = arguments.get("parameters") or []
    names = {one["name"] for one in declared}
    entries = [_given(one, parameters) for one in declared]
    entries += [
        {"name": name, "value": parameters[name]} for name in parameters if name not in names
    ]
    arguments = {**arguments, "parameters": entries}
    return {**found, "spec": {**found["spec"], "arguments": arguments}}


def _given(declared: Json, parameters: Mapping[str, str]) -> Json:
    if declared["name"] not in parameters:
        return declared
    kept = {key: value for key, value in declared.items() if key not in ("value", "valueFrom")}
    return {**kept, "value": parameters[declared["name"]]}


def object_name(run_id: str) -> str:
    """Return the name of the Workflow of a run: the same for the same run."""
    if len(run_id) <= _LONGEST and _NAME.fullmatch(run_id):
        return run_id
    legal = re.sub(r"[^a-z0-9]+", "-", run_id.lower()).strip("-")
    return _distinct(legal, run_id).strip("-")


def label_value(text: str) -> str:
    """Return a legal value of a label for a name: itself where it is one."""
    if len(text) <= _LONGEST and _LABEL.fullmatch(text):
        return text
    return _distinct(re.sub(r"[^-A-Za-z0-9_.]+", "-", text).strip("-_."), text)


def _distinct(legal: str, text: str) -> str:
    """Return a legal name, cut to its length, that no other text has."""
    digest = hashlib.sha256(text.encode()).hexdigest()[:8]
    cut = legal[: _LONGEST - len(digest) - 1].rstrip("-_.")
    return f"{cut}-{digest}" if cut else f"run-{digest}"
