"""How long Argo's controller may still do something with the pods of a run that has ended.

What it does with pods it does by their names, and a node that runs again has a pod of the same name
as before. Four things can so happen to the new pod (all of Argo 4.0, `workflow/controller`):

- It is killed: when the main containers of a pod have ended, the controller asks the others to end,
  and queues to kill what then still runs after the pod's time of grace (`signalContainers`,
  `pod/queue.go`).
- It is asked to end, marked as done or deleted, as the controller is late. Each time that it queues
  something to do with a pod takes one of ten tokens a second, the same thing once more as well
  (`DefaultTypedControllerRateLimiter` of client-go). After a run of hundreds of pods it is late by
  minutes. It marks a pod as done, or deletes it, once it has done the rest
  (`determinePodCleanupAction`, `pod/cleanup.go`). Only what was queued twice can come after that,
  mostly within the time again by which the mark was late.
- It is deleted after the delay that the run has set for that (`podGC.deleteDelayDuration`).
- The pod before is taken for it: of changes the controller hears a little later. A pod that it
  takes to be there gives a node that runs again its own end and outputs (`podReconciliation`,
  `operator.go`).
"""

from __future__ import annotations

import re
import typing as t
from collections.abc import Iterable, Mapping
from datetime import datetime, timedelta

from couler.backends.argo.status_nodes import Json, read_time
from couler.backends.argo.workflow_api import COMPLETED_LABEL

GRACE_S: t.Final = 30.0
"""Time of grace of pods that state none (`terminationGracePeriodSeconds`)."""

LATE_S: t.Final = 5.0
"""How long after the end of a pod, or its mark, the controller may have taken to queue."""

BUSY_S: t.Final = 3600.0
"""So long after the end of a run no mark comes any more: its controller has been restarted."""

_GC_ANNOTATION = "workflows.argoproj.io/pod-gc-strategy"
_UNITS = {"h": 3600.0, "m": 60.0, "s": 1.0, "ms": 1e-3, "us": 1e-6, "µs": 1e-6, "ns": 1e-9}
_PART = re.compile(r"(\d+(?:\.\d+)?)(h|ms|m|s|us|µs|ns)")


class OldPod(t.NamedTuple):
    """A pod of a run that has ended.

    Attributes
    ----------
    grace_s
        Its time of grace.
    is_done
        Whether the controller has marked it as one that it is done with.
    marked
        When it did at the latest; None where it has not, or the server does not say.
    deleted_after_s
        How long after an end the controller is to delete it; 0 where it is at once or never.
    """

    grace_s: float
    is_done: bool
    marked: datetime | None
    deleted_after_s: float


def read_pod(pod: Json) -> OldPod:
    """Return what counts of a pod.

    Examples
    --------
    >>> labels = {"workflows.argoproj.io/completed": "true"}
    >>> label = {"f:metadata": {"f:labels": {"f:workflows.argoproj.io/completed": {}}}}
    >>> field = {"time": "2026-03-01T12:00:05Z", "fieldsV1": label}
    >>> pod = read_pod({"metadata": {"name": "a", "labels": labels, "managedFields": [field]}})
    >>> pod.grace_s, pod.is_done, str(pod.marked)
    (30.0, True, '2026-03-01 12:00:05+00:00')
    """
    metadata = pod["metadata"]
    is_done = (metadata.get("labels") or {}).get(COMPLETED_LABEL) == "true"
    stated = (pod.get("spec") or {}).get("terminationGracePeriodSeconds")
    return OldPod(
        GRACE_S if stated is None else float(stated),
        is_done,
        _labelled(metadata.get("managedFields") or ()) if is_done else None,
        _deleted_after_s(pod),
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


def _deleted_after_s(pod: Json) -> float:
    """Read the annotation of a pod whose run says when pods are deleted: `OnPodCompletion/1h0m0s`.

    Of a run that has not succeeded Argo deletes no pods that wait for that, but marks them at once.
    """
    given: str = (pod["metadata"].get("annotations") or {}).get(_GC_ANNOTATION) or ""
    when, _, delay = given.partition("/")
    phase = (pod.get("status") or {}).get("phase")
    is_meant = when.endswith("Completion") or (when == "OnPodSuccess" and phase == "Succeeded")
    return sum(float(n) * _UNITS[unit] for n, unit in _PART.findall(delay)) if is_meant else 0.0


def is_marked_later(node: Json) -> bool:
    """Return whether the controller marks the pod of a node after the end of the run.

    Examples
    --------
    >>> is_marked_later({"phase": "Failed", "taskResultSynced": True})
    True
    >>> is_marked_later({"phase": "Pending"})
    False
    """
    ended = node.get("phase") in ("Succeeded", "Failed", "Error")
    return ended and node.get("taskResultSynced") is not False


def end_of(workflow: Json) -> datetime | None:
    """Return when a run has ended, None where its Workflow does not say."""
    return read_time((workflow.get("status") or {}).get("finishedAt"))


def deleted_at(pod: OldPod, ended: datetime | None) -> datetime | None:
    """Return when the controller is to delete a pod of a run at about, None for at once or never.

    Parameters
    ----------
    pod
        The pod.
    ended
        When the run has ended; pods that are deleted after their own end are so a little earlier.
    """
    if ended is None or pod.is_done or not pod.deleted_after_s:
        return None
    return ended + timedelta(seconds=pod.deleted_after_s)


def kill_wait_s(
    nodes: Iterable[Mapping[str, t.Any]],
    marks: Iterable[datetime],
    ended: datetime | None,
    grace_s: float,
    now: datetime,
) -> float:
    """Return how long the controller may still kill or end what has the names of pods, in seconds.

    Parameters
    ----------
    nodes
        The nodes of these pods.
    marks
        When the controller was done with some of them.
    ended
        When the run has ended, None if that is not known.
    grace_s
        The longest time of grace of the pods.
    now
        The time. A clock that differs from the cluster's makes the wait shorter or longer, but
        never longer than after an end that was just now.

    Examples
    --------
    >>> noon = datetime.fromisoformat("2026-03-01T12:00:00Z")
    >>> fit = {"finishedAt": "2026-03-01T12:00:00Z"}
    >>> kill_wait_s([fit], [], noon, 30.0, noon + timedelta(seconds=20))
    15.0
    >>> mark = noon + timedelta(seconds=40)  # it is late by as much, and so may be what comes twice
    >>> kill_wait_s([fit], [mark], noon, 30.0, mark)
    80.0
    """
    marks = list(marks)
    ends = [*marks, *(read_time(node.get("finishedAt")) for node in nodes)]
    last = max((end for end in ends if end is not None), default=None)
    if last is None:
        return 0.0
    late_s = (
        0.0
        if ended is None
        else max(((mark - ended).total_seconds() for mark in marks), default=0.0)
    )
    whole_s = max(grace_s + LATE_S, 2 * late_s)
    return min(max(0.0, whole_s - (now - last).total_seconds()), whole_s)
