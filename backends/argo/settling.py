"""How long Argo's controller may still take the pods of a node for those that were there before.

When the main containers of a pod have ended, the controller asks the others to end, and queues to
kill what then still runs after the pod's time of grace: by the pod's name. A node that runs again
has a pod of the same name, which would be killed in the place of the first: function
`signalContainers` in `workflow/controller/pod/queue.go` of Argo 4.0.

All that it does with pods it does by their names, from a queue that is served ten times a second
(`DefaultTypedControllerRateLimiter` of client-go), with each pod in it several times. After the end
of a run of many pods it is late, by a minute where they are forty and the run is looked at often.
What it does last with a pod is to mark it as done, or to delete it: function
`determinePodCleanupAction` in `workflow/controller/pod/cleanup.go`.

It also knows of pods what it was told, a little later than they change. A pod that it takes to be
there still gives a node that runs again its own end and outputs: function `podReconciliation` in
`workflow/controller/operator.go`.
"""

from __future__ import annotations

import time
import typing as t
from collections.abc import Iterable, Mapping
from datetime import UTC, datetime

from couler.backends.argo.status_nodes import Json, read_time
from couler.backends.argo.workflow_api import COMPLETED_LABEL
from couler.rest import notices

GRACE_S: t.Final = 30.0
"""Time of grace of pods that state none (`terminationGracePeriodSeconds`)."""

LATE_S: t.Final = 5.0
"""How long after the end of a pod the controller may have taken to queue."""

HEARS_S: t.Final = 5.0
"""How long the controller may take to hear that a pod was deleted."""

BUSY_S: t.Final = 300.0
"""For how long after the end of a run it is waited until its controller is done with its pods."""


def is_done_with(pod: Json) -> bool:
    """Return whether the controller has marked a pod as one that it is done with."""
    labels: Mapping[str, str] = pod["metadata"].get("labels") or {}
    return labels.get(COMPLETED_LABEL) == "true"


def marked_at(pod: Json) -> datetime | None:
    """Return when a pod was marked as done at the latest, None where the server does not say.

    Examples
    --------
    >>> labels = {"f:metadata": {"f:labels": {"f:workflows.argoproj.io/completed": {}}}}
    >>> field = {"time": "2026-03-01T12:00:05Z", "fieldsV1": labels}
    >>> str(marked_at({"metadata": {"name": "fit", "managedFields": [field]}}))
    '2026-03-01 12:00:05+00:00'
    """
    for one in pod["metadata"].get("managedFields") or ():
        changed = (one.get("fieldsV1") or {}).get("f:metadata") or {}
        if f"f:{COMPLETED_LABEL}" in (changed.get("f:labels") or {}):
            return read_time(one.get("time"))
    return None


def busy_s(workflow: Json, now: datetime) -> float:
    """Return for how long to wait until the controller is done with pods of an ended run, at most.

    Parameters
    ----------
    workflow
        The run's Workflow.
    now
        The time. A clock that differs from the cluster's makes the wait shorter or longer, but
        never longer than after an end that was just now.
    """
    finished = read_time((workflow.get("status") or {}).get("finishedAt"))
    past_s = 0.0 if finished is None else (now - finished).total_seconds()
    return min(max(0.0, BUSY_S - past_s), BUSY_S)


def settle_s(
    nodes: Mapping[str, Json],
    again: Iterable[str],
    now: datetime,
    marked: datetime | None = None,
    grace_s: float = GRACE_S,
    least_s: float = HEARS_S,
) -> float:
    """Return how long to wait before nodes may have pods again, in seconds.

    Parameters
    ----------
    nodes
        All nodes of a run that has ended, by their ids.
    again
        Ids of those that are to run again.
    now
        The time. A clock that differs from the cluster's makes the wait shorter or longer, but
        never longer than that after an end that was just now.
    marked
        When the controller was done with the last of their pods, None if that is not known: what it
        queued to kill was queued before.
    grace_s
        The longest time of grace of their pods.
    least_s
        The least where one of them has had a pod, which was deleted just now.

    Examples
    --------
    >>> fit = {"type": "Pod", "finishedAt": "2026-03-01T12:00:00Z"}
    >>> settle_s({"a": fit}, ["a"], datetime(2026, 3, 1, 12, 0, 20, tzinfo=UTC))
    15.0
    """
    pods = [nodes[one] for one in again if _has_pod(nodes.get(one))]
    if not pods:
        return 0.0
    whole_s = grace_s + LATE_S
    ends = [marked, *(read_time(pod.get("finishedAt")) for pod in pods)]
    last = max((end for end in ends if end is not None), default=None)
    late_s = 0.0 if last is None else whole_s - (now - last).total_seconds()
    return min(max(least_s, late_s), whole_s)


def settle(
    nodes: Mapping[str, Json],
    again: Iterable[str],
    marked: datetime | None = None,
    grace_s: float = GRACE_S,
    least_s: float = HEARS_S,
) -> None:
    """Wait until nodes may have pods again, and say so where that is for what ended just now."""
    wait_s = settle_s(nodes, again, datetime.now(UTC), marked, grace_s, least_s)
    if wait_s > least_s:
        notices.say(
            f"argo: begins in {wait_s:.0f} s: until then its controller may kill what has the name "
            "of a pod that has just ended"
        )
    time.sleep(wait_s)


def _has_pod(node: Json | None) -> bool:
    return node is not None and node.get("type") == "Pod"
