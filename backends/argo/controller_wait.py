"""Waiting until Argo's controller is done with pods of a run, and has heard that they are gone."""

from __future__ import annotations

import time
import typing as t
from collections.abc import Collection, Mapping
from datetime import UTC, datetime, timedelta

from couler.backends.argo.owned_objects import OwnedPods
from couler.backends.argo.reset import Reset, pod_name
from couler.backends.argo.settling import (
    BUSY_S,
    GRACE_S,
    OldPod,
    deleted_at,
    end_of,
    is_marked_later,
    late_s,
    left_s,
    whole_wait_s,
)
from couler.backends.argo.status_nodes import read_nodes
from couler.rest import notices

Json: t.TypeAlias = t.Any

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
        notices.say(
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
            notices.say(
                f"argo: its controller has not marked the pod {min(left)}{_and_more(left)} as "
                "done, and is not waited for any longer. If it comes to that later, it may end "
                "what has the name: look whether it runs"
            )
            return 0.0
        if not has_told and now - began > _QUIET_S:
            has_told = True
            notices.say(
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
        notices.say(
            f"argo: begins in {seconds:.0f} s: until then its controller may kill what has the "
            "name of a pod that has ended just now. Nothing is changed yet"
        )
        time.sleep(seconds)
