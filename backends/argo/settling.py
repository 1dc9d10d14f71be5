"""How long Argo's controller may still do something with the pods of a run that has ended.

What it does with pods it does by their names, and a node that runs again has a pod of the same name
as before. Four things can so happen to the new pod (all of Argo 4.0, `workflow/controller`):

- It is killed: when the main containers of a pod have ended, the controller asks the others to end,
  and queues to kill what then still runs after the pod's time of grace (`signalContainers`,
  `pod/queue.go`).
- It is asked to end, marked as done or deleted, as the controller is late. Each time that it queues
  something to do with a pod takes one of ten tokens a second, the same thing once more as well
  (`DefaultTypedControllerRateLimiter` of client-go). After a run of hundreds of pods it is late by
  minutes. It marks a pod as done once it has done the rest (`determinePodCleanupAction`,
  `pod/cleanup.go`). Only what was queued twice can come after that, mostly within the time again
  by which the mark was late. A pod that `podGC` has it delete may go before that, and then it is
  not known how late it is.
- It is deleted after the delay that the run has set for that (`podGC.deleteDelayDuration`).
- The pod before is taken for it: of changes the controller hears a little later. A pod that it
  takes to be there gives a node that runs again its own end and outputs (`podReconciliation`,
  `operator.go`).
"""

from __future__ import annotations

import re
import typing as t
from collections.abc import Iterable
from datetime import datetime, timedelta

from couler.backends.argo.status_nodes import Json, read_time
from couler.backends.argo.workflow_api import COMPLETED_LABEL

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
    """A pod of a run that has ended.

    Attributes
    ----------
    grace_s
        Its time of grace.
    is_done
        Whether the controller has marked it as one that it is done with.
    marked
        When it did; None where it has not, or the server does not say.
    phase
        How it has ended: `Succeeded` or `Failed`.
    cleanup
        When the controller deletes it: `OnPodCompletion`, `OnWorkflowSuccess`, ...; empty for
        never.
    delay_s
        How much later it does so.
    """

    grace_s: float
    is_done: bool
    marked: datetime | None
    phase: str
    cleanup: str
    delay_s: float


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
    """Return whether the controller marks the pod of a node after the end of the run.

    Examples
    --------
    >>> is_marked_later({"phase": "Failed", "taskResultSynced": True})
    True
    >>> is_marked_later({"phase": "Failed", "taskResultSynced": False})
    False
    >>> is_marked_later({"phase": "Pending"})
    False
    """
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
    """Return how late the controller was when it marked a pod, in seconds; 0 if not known.

    What was late more than ten minutes before the end of the run counts no more.

    Examples
    --------
    >>> marked = datetime.fromisoformat("2026-03-01T12:00:10Z")
    >>> pod = OldPod(30.0, True, marked, "Failed", "", 0.0)
    >>> late_s(pod, {"finishedAt": "2026-03-01T12:00:00Z"}, {"status": {}})
    10.0
    """
    due = end_of(workflow if pod.cleanup.startswith("OnWorkflow") else node)
    if due is None or pod.marked is None:
        return 0.0
    ended = end_of(workflow)
    if ended is not None and pod.marked < ended - timedelta(seconds=MOST_S):
        return 0.0
    seconds = (pod.marked - due).total_seconds()
    return seconds if 0 < seconds < BUSY_S else 0.0  # else it was not the controller


def whole_wait_s(grace_s: float, late_s: float) -> float:
    """Return how long after a mark the controller may still kill or end what has a pod's name.

    Parameters
    ----------
    grace_s
        The pod's time of grace.
    late_s
        How late it was with marks.

    Examples
    --------
    >>> whole_wait_s(30.0, 1.0), whole_wait_s(30.0, 40.0), whole_wait_s(30.0, 3000.0)
    (35.0, 80.0, 600.0)
    """
    return max(grace_s + LATE_S, min(2 * late_s, MOST_S))


def left_s(ends: Iterable[datetime | None], whole_s: float, now: datetime) -> float:
    """Return how much is left of a wait that begins with the last of some ends, in seconds.

    Parameters
    ----------
    ends
        The ends, None for what is not known.
    whole_s
        The whole wait.
    now
        The time. A clock that is ahead of the cluster's makes the wait shorter; one that is slow
        does not make it longer than the whole.

    Examples
    --------
    >>> noon = datetime.fromisoformat("2026-03-01T12:00:00Z")
    >>> left_s([noon, None], 35.0, noon + timedelta(seconds=20)), left_s([None], 35.0, noon)
    (15.0, 0.0)
    """
    last = max((end for end in ends if end is not None), default=None)
    if last is None:
        return 0.0
    return min(max(0.0, whole_s - (now - last).total_seconds()), whole_s)
