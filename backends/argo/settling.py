"""How long Argo's controller may still do something with the pods of a run that has ended."""

from __future__ import annotations

import re
import typing as t
from collections.abc import Iterable
from datetime import datetime, timedelta

from couler.backends.argo.status_nodes import read_time
from couler.backends.argo.workflow_api import COMPLETED_LABEL
from couler.backends.remote import Json

GRACE_S: t.Final = 30.0
"""Time of grace of pods that state none (`terminationGracePeriodSeconds`)."""

LATE_S: t.Final = 5.0
"""How long after the end of a pod, or its mark, the controller may have taken to queue."""

BUSY_S: t.Final = 3600.0
"""So long after the end of a run nothing of it is left to do for its controller."""

MOST_S: t.Final = 600.0
"""The longest wait for what comes after a mark as it was queued twice."""

_GC_ANNOTATION = "workflows.argoproj.io/pod-gc-strategy"
_UNITS = {"h": 3600.0, "m": 60.0, "s": 1.0, "ms": 1e-3, "us": 1e-6, "µs": 1e-6, "ns": 1e-9}
_PART = re.compile(r"(\d+(?:\.\d+)?)(h|ms|m|s|us|µs|ns)")


class OldPod(t.NamedTuple):
    """A pod of a run that has ended."""

    grace_s: float
    is_done: bool
    marked: datetime | None
    phase: str
    cleanup: str
    delay_s: float


def read_pod(pod: Json) -> OldPod:
    """Return what counts of a pod."""
    metadata = pod["metadata"]
    is_done = (metadata.get("labels") or {}).get(COMPLETED_LABEL) == "true"
    stated = (pod.get("spec") or {}).get("terminationGracePeriodSeconds")
    given: str = (metadata.get("annotations") or {}).get(_GC_ANNOTATION) or ""
    cleanup, _, delay = given.partition("/")
    return OldPod(
        GRACE_S if stated is None else float(stated),
        is_done,
        _labelled(metadata.get("managedFields") or ()) if is_done else None,
        (pod.get("status") or {}).get("phase") or "",
        cleanup,
        sum(float(number) * _UNITS[unit] for number, unit in _PART.findall(delay)),
    )


def _labelled(fields: Iterable[Json]) -> datetime | None:
    """Return when the label of those that are done with was last set."""
    times = (
        read_time(one.get("time"))
        for one in fields
        if f"f:{COMPLETED_LABEL}"
        in (((one.get("fieldsV1") or {}).get("f:metadata") or {}).get("f:labels") or {})
    )
    return max((time for time in times if time is not None), default=None)


def is_marked_later(node: Json) -> bool:
    """Return whether the controller marks the pod of a node after the end of the run."""
    ended = node.get("phase") in ("Succeeded", "Failed", "Error")
    return ended and node.get("taskResultSynced") is not False


def end_of(thing: Json) -> datetime | None:
    """Return when the run of a Workflow, or a node, has ended; None where that is not said."""
    return read_time((thing.get("status") or thing).get("finishedAt"))


def deleted_at(pod: OldPod, node: Json, workflow: Json) -> datetime | None:
    """Return when the controller is to delete a pod, None for at once, never or not known."""
    of_run = pod.cleanup.startswith("OnWorkflow")
    phase = workflow["status"].get("phase") if of_run else pod.phase
    is_meant = pod.cleanup.endswith("Completion") or (
        pod.cleanup.endswith("Success") and phase == "Succeeded"
    )
    ended = end_of(workflow if of_run else node)
    if ended is None or not is_meant or pod.is_done or not pod.delay_s:
        return None
    return ended + timedelta(seconds=pod.delay_s)


def late_s(pod: OldPod, node: Json, workflow: Json) -> float:
    """Return how late the controller was when it marked a pod, in seconds; 0 if not known."""
    due = end_of(workflow if pod.cleanup.startswith("OnWorkflow") else node)
    if due is None or pod.marked is None:
        return 0.0
    ended = end_of(workflow)
    if ended is not None and pod.marked < ended - timedelta(seconds=MOST_S):
        return 0.0
    seconds = (pod.marked - due).total_seconds()
    return seconds if 0 < seconds < BUSY_S else 0.0  # else it was not the controller


def whole_wait_s(grace_s: float, late_s: float) -> float:
    """Return how long after a mark the controller may still kill or end what has a pod's name."""
    return max(grace_s + LATE_S, min(2 * late_s, MOST_S))


def left_s(ends: Iterable[datetime | None], whole_s: float, now: datetime) -> float:
    """Return how much is left of a wait that begins with the last of some ends, in seconds."""
    last = max((end for end in ends if end is not None), default=None)
    if last is None:
        return 0.0
    return min(max(0.0, whole_s - (now - last).total_seconds()), whole_s)
