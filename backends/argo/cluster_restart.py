"""Restart of a Workflow through the Kubernetes API: pods first, then, after a wait, its status."""

from __future__ import annotations

import re
import time
import typing as t
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from datetime import UTC, datetime, timedelta

from couler.backends.argo.reset import PutBack, Reset, has_ended, pod_name
from couler.backends.argo.status_nodes import read_nodes, read_time
from couler.backends.argo.workflow_api import COMPLETED_LABEL, list_all
from couler.backends.remote import Json, UnbegunInterrupt
from couler.errors import RefusedError
from couler.rest import say
from couler.rest.answers import Shape
from couler.rest.client import RestClient
from couler.rest.patience import Patience

_GONE = Patience(first_s=0.1, cap_s=2.0, total_s=60.0)
"""How long a pod that is deleted may still be there; most have ended, and go at once."""

Settled: t.TypeAlias = set[tuple[str, datetime | None, tuple[str, ...]]]
"""Names of Workflows, their ends, and pods for which it has been waited after these ends."""


class RestartChange:
    """Changes the Workflow of an ended run into one that begins parts of it again."""

    def __init__(
        self,
        client: RestClient,
        namespace: str,
        name: str,
        put_back: PutBack,
        *,
        read: Callable[[str], Json],
        settled: Settled,
        first: Callable[[], object] = lambda: None,
        gone: Patience = _GONE,
    ) -> None:
        self._client = client
        self._pods_path = f"/api/v1/namespaces/{namespace}/pods"
        self._name = name
        self._put_back = put_back
        self._read = read
        self._settled = settled
        self._first = first
        self._gone = gone
        self._pods = self._pods_of(name)
        # What the pods have told of their outputs would be taken for what the new ones tell. Argo
        # deletes it at the end of a run, so an account that may not can go on.
        results = f"/apis/argoproj.io/v1alpha1/namespaces/{namespace}/workflowtaskresults"
        self._results = OwnedObjects(client, results, name, unless=(403,))
        self._has_begun = self._is_deletion_heard = False

    def __call__(self, found: Json) -> Json:
        """Return what a Workflow is to be, once its pods are gone."""
        refuse_running(found)
        try:
            wanted = self._settle_all(found)
        except KeyboardInterrupt as error:
            if self._has_begun:
                raise
            raise UnbegunInterrupt from error
        if not self._has_begun:
            self._first()
            self._has_begun = True
        if self._pods.delete(wanted.pods):
            self._is_deletion_heard = False
        self._pods.wait_until_gone(wanted.pods, self._gone)
        self._results.delete(wanted.nodes)
        # A part that is held starts no pods: the run that starts it is put back last, and waits.
        if wanted.pods and not self._is_deletion_heard and not has_ended(wanted.workflow):
            wait_until_heard()
            self._is_deletion_heard = True
        return wanted.workflow

    def _settle_all(self, found: Json) -> Reset:
        """Wait for all that belongs to the run, and return what this is to be by then."""
        while True:
            wanted = self._put_back(found)
            is_settled = self._settle(found, wanted)
            for one, put_one_back in wanted.family.items():
                member = self._read(one)
                is_settled &= self._settle(member, put_one_back(member))
            if is_settled:
                return wanted
            # Meanwhile others may have restarted the run, which then has pods of the same names.
            found = self._read(self._name)
            refuse_running(found)

    def _settle(self, found: Json, wanted: Reset) -> bool:
        """Wait for the controller if that was not done; return whether it was."""
        name: str = found["metadata"]["name"]
        key = (name, end_of(found), wanted.pods)
        if key in self._settled:
            return True
        wait_for_controller(self._pods_of(name), found, wanted)
        self._settled.add(key)
        return False

    def _pods_of(self, workflow: str) -> OwnedPods:
        return OwnedPods(self._client, self._pods_path, workflow)


def refuse_running(workflow: Json) -> None:
    """Refuse to restart a run that goes on."""
    if not has_ended(workflow):
        raise RefusedError(
            f"argo: the workflow {workflow['metadata']['name']} has not ended, so it cannot be "
            "restarted. Wait for its end, or cancel it"
        )


HEARS_S: t.Final = 5.0
"""How long the controller may take to hear that a pod was deleted."""

_STALL_S = 60.0
"""It is waited for marks of pods as long as one came within this time."""

_LOOK_S, _LONGEST_LOOK_S = 0.2, 5.0
"""How long it is waited between looks at first, and at last: each lists the pods that are left."""

_QUIET_S = 2.0
"""For how long it is waited without a word."""


def wait_until_heard() -> None:
    """Wait until the controller has heard that pods are gone."""
    time.sleep(HEARS_S)


def wait_for_controller(pods: OwnedPods, workflow: Json, wanted: Reset) -> None:
    """Wait until the controller has nothing to do any more with the pods that are to go."""
    run = workflow["metadata"]["name"]
    with_pods = {key: one for key, one in read_nodes(workflow).items() if one["type"] == "Pod"}
    nodes = {pod_name(run, node): node for node in with_pods.values()}
    gone = {pod_name(run, with_pods[key]) for key in wanted.nodes & with_pods.keys()}
    if not gone:
        return
    found = pods.old_pods()
    later = _deleted_later({name: found[name] for name in gone & found.keys()}, nodes, workflow)
    left = {
        name
        for name in gone & found.keys() - later
        if not found[name].is_done and is_marked_later(nodes[name])
    }
    waited_s = 0.0
    if left and _is_recent(workflow):
        waited_s = _wait_for_marks(pods, left)
        found = pods.old_pods()
    grace_s = max(found[name].grace_s if name in found else GRACE_S for name in gone)
    wait_s = _kill_wait_s(workflow, nodes, gone, found, grace_s)
    if waited_s and any(name not in found or found[name].marked is None for name in left):
        # The controller was done with them within the wait, perhaps just now.
        wait_s = max(wait_s, whole_wait_s(grace_s, waited_s))
    _wait_for_kills(wait_s)


def _is_recent(workflow: Json) -> bool:
    ended = end_of(workflow)
    return ended is not None and datetime.now(UTC) - ended < timedelta(seconds=BUSY_S)


def _kill_wait_s(
    workflow: Json,
    nodes: Mapping[str, Json],
    gone: Collection[str],
    found: Mapping[str, OldPod],
    grace_s: float,
) -> float:
    """Return how long the controller may still kill what has the names of pods, in seconds."""
    ends = [end_of(nodes[name]) for name in gone]
    late = 0.0
    if _is_recent(workflow):
        # Where it is not known when the controller was done with a pod, the end of the run counts.
        marks = [found[name].marked if name in found else None for name in gone]
        ends += [mark or end_of(workflow) for mark in marks]
        both = nodes.keys() & found.keys()
        late = max((late_s(found[name], nodes[name], workflow) for name in both), default=0.0)
    return left_s(ends, whole_wait_s(grace_s, late), datetime.now(UTC))


def _deleted_later(
    pods: Mapping[str, OldPod], nodes: Mapping[str, Json], workflow: Json
) -> Collection[str]:
    """Return which pods are deleted later than is waited for that, and say so."""
    latest = datetime.now(UTC) + timedelta(seconds=_STALL_S)
    due = {name: deleted_at(pod, nodes[name], workflow) for name, pod in pods.items()}
    later = {name: at for name, at in due.items() if at is not None and at > latest}
    if later:
        name = min(later)
        say(
            f"argo: its controller deletes the pod {name}{_and_more(later)} at about "
            f"{later[name]:%Y-%m-%d %H:%M} UTC (podGC.deleteDelayDuration). It goes by the name: "
            "what then runs under it is deleted, too"
        )
    return later


def _wait_for_marks(pods: OwnedPods, wanted: Collection[str]) -> float:
    """Wait until the controller has marked pods as done or deleted them."""
    began = last = time.monotonic()
    look_s, fewest, has_told = _LOOK_S, None, False
    while left := set(wanted) & (unmarked := pods.unmarked()):
        now = time.monotonic()
        if fewest is None or len(unmarked) < fewest:
            fewest, last = len(unmarked), now
        if now - last > _STALL_S:
            say(
                f"argo: its controller has not marked the pod {min(left)}{_and_more(left)} as "
                "done, and is not waited for any longer. If it comes to that later, it may end "
                "what has the name: look whether it runs"
            )
            return 0.0
        if not has_told and now - began > _QUIET_S:
            has_told = True
            say(
                f"argo: waits until its controller is done with {len(left)} pods of the run that "
                "has ended. Nothing is changed yet"
            )
        time.sleep(look_s)
        look_s = min(look_s * 1.5, _LONGEST_LOOK_S)
    return time.monotonic() - began


def _and_more(names: Collection[str]) -> str:
    return f" (and {len(names) - 1} more)" if len(names) > 1 else ""


def _wait_for_kills(seconds: float) -> None:
    if seconds > 0:
        say(
            f"argo: begins in {seconds:.0f} s: until then its controller may kill what has the "
            "name of a pod that has ended just now. Nothing is changed yet"
        )
        time.sleep(seconds)


_NAMES: Shape = {"items": {"metadata.name": str}, "metadata": dict}
_OF = "workflows.argoproj.io/workflow"


class OwnedObjects:
    """Objects of a kind that belong to a Workflow."""

    def __init__(
        self, client: RestClient, path: str, workflow: str, *, unless: Collection[int] = ()
    ) -> None:
        self._client = client
        self._path = path
        self._absent = (404, *unless)
        self._of = f"{_OF}={workflow}"

    def delete(self, names: Iterable[str]) -> bool:
        """Delete those that are there; return whether any was."""
        here = sorted(self._names() & set(names))
        for name in here:
            self._client.call("DELETE", f"{self._path}/{name}", absent=self._absent)
        return bool(here)

    def _names(self) -> set[str]:
        return {name for name, _ in self._found(self._of)}

    def _found(self, selector: str) -> Iterator[tuple[str, Json]]:
        """Yield those that are there, with their names."""
        for one in list_all(self._client, self._path, selector, expect=_NAMES, absent=self._absent):
            yield one["metadata"]["name"], one


class OwnedPods(OwnedObjects):
    """The pods of a Workflow."""

    def wait_until_gone(self, names: Iterable[str], patience: Patience) -> None:
        """Wait until none of them is there."""
        wanted, waits = set(names), patience.begin()
        while left := sorted(self._names() & wanted):
            if not waits.wait():
                raise RefusedError(
                    f"argo: the pod {left[0]} was deleted, so that its step can run again, but is "
                    "still there. Look for what holds it (kubectl describe pod), and try again"
                )

    def old_pods(self) -> dict[str, OldPod]:
        """Return those that are there."""
        return {name: read_pod(one) for name, one in self._found(self._of)}

    def unmarked(self) -> set[str]:
        """Return the names of all that the controller is not done with."""
        return {name for name, _ in self._found(f"{self._of},{COMPLETED_LABEL}!=true")}


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
