"""Schedules on Argo: CronWorkflows, as they are put in place and read."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime

from couler.backends.argo.submission import label_value, read_objects
from couler.backends.argo.workflow_api import WORKFLOW_LABEL, Json
from couler.backends.base import Artifact
from couler.backends.remote import Scheduled
from couler.errors import EngineError, EngineOptionError
from couler.ir.workflow import Workflow

_FAULTS = ("SpecError", "SubmissionError")


def cron_of(workflow: Workflow, artifact: Artifact) -> tuple[list[Json], Json]:
    """Return what must be there before the CronWorkflow of an artifact, and that itself."""
    found = read_objects(artifact)
    crons = [one for one in found if one.get("kind") == "CronWorkflow"]
    if len(crons) == 1:
        return [one for one in found if one is not crons[0]], marked(crons[0], workflow.name)
    if workflow.schedule is None:
        raise EngineError(
            f'argo: the workflow "{workflow.name}" has no schedule, so no CronWorkflow was made'
        )
    raise EngineOptionError(
        "argo: the option kind of the target makes no CronWorkflow, which keeps a schedule. Leave "
        "it out, or say kind=CronWorkflow"
    )


def marked(manifest: Json, workflow: str) -> Json:
    """Return an object with the marks of a workflow, by which it is found."""
    metadata = manifest["metadata"]
    labels = {**(metadata.get("labels") or {}), WORKFLOW_LABEL: label_value(workflow)}
    marks = {**(metadata.get("annotations") or {}), WORKFLOW_LABEL: workflow}
    return {**manifest, "metadata": {**metadata, "labels": labels, "annotations": marks}}


def kept_paused(manifest: Json, known: Json | None) -> Json:
    """Return a CronWorkflow that is paused if the one that it renews is."""
    if known is None or not known["spec"].get("suspend") or manifest["spec"].get("suspend"):
        return manifest
    return {**manifest, "spec": {**manifest["spec"], "suspend": True}}


def scheduled(found: Json, namespace: str) -> Scheduled | None:
    """Return the schedule that a CronWorkflow is, if it was put in place from here."""
    metadata, spec, status = found["metadata"], found["spec"], found.get("status") or {}
    name = (metadata.get("annotations") or {}).get(WORKFLOW_LABEL)
    if name is None:
        return None
    return Scheduled(
        name,
        tuple(spec.get("schedules") or ()),
        {"name": metadata["name"], "namespace": namespace},
        timezone=spec.get("timezone"),
        is_paused=bool(spec.get("suspend")),
        last=_time(status.get("lastScheduledTime")),
        message=_message(status),
    )


def _message(status: Mapping[str, Json]) -> str | None:
    told = [
        str(one.get("message") or one["type"])
        for one in status.get("conditions") or ()
        if one.get("type") in _FAULTS and one.get("status") == "True"
    ]
    if status.get("phase") == "Stopped":
        told.append("it has stopped: enough of its runs have ended")
    return "; ".join(told) or None


def _time(text: str | None) -> datetime | None:
    return None if text is None else datetime.fromisoformat(text)
