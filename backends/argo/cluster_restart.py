"""Putting a Workflow back through the Kubernetes API: its pods first, then its status."""

from __future__ import annotations

import time
import typing as t
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from datetime import UTC, datetime, timedelta

from couler.backends.argo.reset import PutBack, Reset, has_ended, pod_name
from couler.backends.argo.settling import (
    BUSY_S,
    GRACE_S,
    OldPod,
    deleted_at,
    end_of,
    is_marked_later,
    kill_wait_s,
    read_pod,
)
from couler.backends.argo.status_nodes import read_nodes
from couler.backends.argo.workflow_api import COMPLETED_LABEL
from couler.errors import RefusedError
from couler.rest import notices
from couler.rest.answers import Shape
from couler.rest.client import RestClient
from couler.rest.patience import Patience

Json: t.TypeAlias = t.Any

_NAMES: Shape = {"items": {"metadata.name": str}, "metadata": dict}
_OF = "workflows.argoproj.io/workflow"

_GONE = Patience(first_s=0.1, cap_s=2.0, total_s=60.0)
"""How long a pod that is deleted may still be there; most have ended, and go at once."""

HEARS_S: t.Final = 5.0
"""How long the controller may take to hear that a pod was deleted."""

_STALL_S = 60.0
"""It is waited for marks of pods as long as one came within this time."""

_LOOK_S, _LONGEST_LOOK_S = 0.2, 5.0
"""How long it is waited between looks at first, and at last: each lists the pods that are left."""

_QUIET_S = 2.0
"""For how long it is waited without a word."""


def restarting(
    client: RestClient,
    namespace: str,
    name: str,
    put_back: PutBack,
    *,
    read: Callable[[], Json],
    first: Callable[[], object] = lambda: None,
    gone: Patience = _GONE,
) -> Callable[[Json], Json]:
    """Return what makes the Workflow of an ended run one that begins parts of it again.

    It waits until the controller has nothing to do any more with the pods of these parts, and then
    deletes them.

    Parameters
    ----------
    client, namespace, name
        Where the Workflow is.
    put_back
        Says what it is to be.
    read
        Gets it as it is by now.
    first
        Called once, after the wait and before anything is changed.
    gone
        How long pods may take to go.

    Notes
    -----
    What breaks off in between can be done again: pods that are gone already are no matter, and the
    Workflow is changed as a whole, if nothing else has changed it (`metadata.resourceVersion`).
    """
    group = f"/apis/argoproj.io/v1alpha1/namespaces/{namespace}"
    pods = _Kind(client, f"/api/v1/namespaces/{namespace}/pods", name)
    # What the pods have told of their outputs would be taken for what the new ones tell. Argo
    # deletes it at the end of a run, so an account that may not can go on.
    results = _Kind(client, f"{group}/workflowtaskresults", name, unless=(403,))
    is_first = True
    waited_for: list[datetime | None] = []

    def make(found: Json) -> Json:
        nonlocal is_first
        refuse_running(found)
        while end_of(found) not in waited_for:
            # Meanwhile others may restart the run, which then has pods of the same names.
            waited_for.append(end_of(found))
            _wait_for_controller(pods, found, put_back(found))
            found = read()
            refuse_running(found)
        wanted = put_back(found)
        if is_first:
            first()
            is_first = False
        pods.delete(wanted.pods)
        pods.wait_until_gone(wanted.pods, gone)
        results.delete(wanted.nodes)
        # A part that is held starts no pods: the run that starts it is put back last, and waits.
        if wanted.pods and not has_ended(wanted.workflow):
            wait_until_heard()
        return wanted.workflow

    return make


def refuse_running(workflow: Json) -> None:
    """Refuse to restart a run that goes on.

    Raises
    ------
    RefusedError
        It has not ended.
    """
    if not has_ended(workflow):
        raise RefusedError(
            f"argo: the workflow {workflow['metadata']['name']} has not ended, so it cannot be "
            "restarted. Wait for its end, or cancel it"
        )


def wait_until_heard() -> None:
    """Wait until the controller has heard that pods are gone."""
    time.sleep(HEARS_S)


def _wait_for_controller(pods: _Kind, workflow: Json, wanted: Reset) -> None:
    """Wait until the controller has nothing to do any more with the pods that are to go."""
    nodes = read_nodes(workflow)
    gone = [nodes[one] for one in wanted.nodes if (nodes.get(one) or {}).get("type") == "Pod"]
    if not gone:
        return
    named = {pod_name(workflow["metadata"]["name"], node): node for node in gone}
    ended, now = end_of(workflow), datetime.now(UTC)
    found = pods.old_pods(named)
    later = _deleted_later(found, ended, now)
    left = {
        name
        for name, pod in found.items()
        if name not in later and not pod.is_done and is_marked_later(named[name])
    }
    marks = [pod.marked for pod in found.values() if pod.marked is not None]
    if ended is not None and now - ended < timedelta(seconds=BUSY_S):
        if found.keys() != named.keys():
            marks.append(ended)  # the controller may have deleted them only then
        if left and _wait_for_marks(pods, left):
            marks.append(datetime.now(UTC))
    grace_s = max((pod.grace_s for pod in found.values()), default=GRACE_S)
    _wait_for_kills(kill_wait_s(gone, marks, ended, grace_s, datetime.now(UTC)))


def _deleted_later(
    pods: Mapping[str, OldPod], ended: datetime | None, now: datetime
) -> Collection[str]:
    """Return which pods are deleted later than is waited for that, and say so."""
    latest = now + timedelta(seconds=_STALL_S)
    due = {name: deleted_at(pod, ended) for name, pod in pods.items()}
    later = {name: at for name, at in due.items() if at is not None and at > latest}
    if later:
        name = min(later)
        notices.say(
            f"argo: its controller deletes the pod {name}{_and_more(later)} at about "
            f"{later[name]:%Y-%m-%d %H:%M} UTC (podGC.deleteDelayDuration). It goes by the name: "
            "what then runs under it is deleted, too"
        )
    return later


def _wait_for_marks(pods: _Kind, wanted: Collection[str]) -> bool:
    """Wait until the controller has marked pods as done or deleted them; return whether it has.

    It comes to all pods of the run one after the other, so as long as it comes to any it is waited.
    """
    began = last = time.monotonic()
    look_s, fewest, has_told = _LOOK_S, None, False
    while left := set(wanted) & (unmarked := pods.unmarked()):
        now = time.monotonic()
        if fewest is None or len(unmarked) < fewest:
            fewest, last = len(unmarked), now
        if now - last > _STALL_S:
            notices.say(
                f"argo: its controller has not marked the pod {min(left)}{_and_more(left)} as "
                "done, and is not waited for any longer. If it comes to that later, it may end "
                "what has the name"
            )
            return False
        if not has_told and now - began > _QUIET_S:
            has_told = True
            notices.say(
                f"argo: waits until its controller is done with {len(unmarked)} pods of the run "
                "that has ended. Nothing is changed yet"
            )
        time.sleep(look_s)
        look_s = min(look_s * 1.5, _LONGEST_LOOK_S)
    return True


def _and_more(names: Collection[str]) -> str:
    return f" (and {len(names) - 1} more)" if len(names) > 1 else ""


def _wait_for_kills(seconds: float) -> None:
    if seconds > 0:
        notices.say(
            f"argo: begins in {seconds:.0f} s: until then its controller may kill what has the "
            "name of a pod that has just ended. Nothing is changed yet"
        )
        time.sleep(seconds)


class _Kind:
    """Objects of a kind that belong to a Workflow; `unless` are refusals that do not matter."""

    def __init__(
        self, client: RestClient, path: str, workflow: str, *, unless: Collection[int] = ()
    ) -> None:
        self._client = client
        self._path = path
        self._absent = (404, *unless)
        self._of = f"{_OF}={workflow}"

    def delete(self, names: Iterable[str]) -> None:
        """Delete those that are there."""
        for name in sorted(self._names() & set(names)):
            self._client.call("DELETE", f"{self._path}/{name}", absent=self._absent)

    def wait_until_gone(self, names: Iterable[str], patience: Patience) -> None:
        """Wait until none of them is there."""
        wanted, waits = set(names), patience.begin()
        while left := sorted(self._names() & wanted):
            if not waits.wait():
                raise RefusedError(
                    f"argo: the pod {left[0]} was deleted, so that its step can run again, but is "
                    "still there. Look for what holds it (kubectl describe pod), and try again"
                )

    def old_pods(self, names: Collection[str]) -> dict[str, OldPod]:
        """Return those of some pods that are there."""
        wanted = frozenset(names)
        return {name: read_pod(one) for name, one in self._found(self._of) if name in wanted}

    def unmarked(self) -> set[str]:
        """Return the names of all pods that the controller is not done with."""
        return {name for name, _ in self._found(f"{self._of},{COMPLETED_LABEL}!=true")}

    def _names(self) -> set[str]:
        return {name for name, _ in self._found(self._of)}

    def _found(self, selector: str) -> Iterator[tuple[str, Json]]:
        """Yield those that are there, with their names."""
        params: dict[str, str | int | bool] = {"labelSelector": selector, "limit": 500}
        while True:
            answer = self._client.call(
                "GET", self._path, params=params, absent=self._absent, expect=_NAMES
            )
            if answer is None:
                return
            for one in answer.get("items") or ():
                yield one["metadata"]["name"], one
            more = answer["metadata"].get("continue")
            if not more:
                return
            params["continue"] = more
