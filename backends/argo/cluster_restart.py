"""Putting a Workflow back through the Kubernetes API: its pods first, then its status."""

from __future__ import annotations

import typing as t
from collections.abc import Callable, Collection
from dataclasses import replace
from datetime import UTC, datetime

from couler.backends.argo.reset import PutBack, effective_spec, has_ended
from couler.backends.argo.settling import (
    BUSY_S,
    GRACE_S,
    HEARS_S,
    busy_s,
    is_done_with,
    marked_at,
    settle,
)
from couler.backends.argo.status_nodes import read_nodes
from couler.errors import RefusedError
from couler.rest import notices
from couler.rest.answers import Shape
from couler.rest.client import RestClient
from couler.rest.patience import Patience

Json: t.TypeAlias = t.Any

_NAMES: Shape = {"items": {"metadata.name": str}, "metadata": dict}

_GONE = Patience(first_s=0.1, cap_s=2.0, total_s=60.0)
"""How long a pod that is deleted may still be there; most have ended, and go at once."""

_DONE = Patience(first_s=0.2, cap_s=1.0, total_s=BUSY_S)
"""How long the controller may be busy with pods of a run that has ended just now."""

_QUIET_S = 2.0
"""For how long it is waited without a word."""


def restarting(
    client: RestClient,
    namespace: str,
    name: str,
    put_back: PutBack,
    *,
    first: Callable[[], object] = lambda: None,
    done: Patience = _DONE,
    gone: Patience = _GONE,
) -> Callable[[Json], Json]:
    """Return what makes the Workflow of an ended run one that begins parts of it again.

    It deletes the pods of these parts, once the controller is done with them.

    Parameters
    ----------
    client, namespace, name
        Where the Workflow is.
    put_back
        Says what it is to be.
    first
        Called once, before anything is changed.
    done
        How long the controller may be busy with pods of a run that has ended just now.
    gone
        How long pods may take to go.

    Notes
    -----
    What breaks off in between can be done again: pods that are gone already are no matter, and the
    Workflow is changed as a whole, if nothing else has changed it (`metadata.resourceVersion`).
    """
    group = f"/apis/argoproj.io/v1alpha1/namespaces/{namespace}"
    is_first = True
    marked: datetime | None = None

    def make(found: Json) -> Json:
        nonlocal is_first, marked
        refuse_running(found)
        wanted = put_back(found)
        if is_first:
            first()
            is_first = False
        pods = _Kind(client, f"/api/v1/namespaces/{namespace}/pods", name)
        marked = _wait_until_done(pods, wanted.pods, found, done) or marked
        grace_s = pods.delete(wanted.pods)
        pods.wait_until_gone(wanted.pods, gone)
        # What the pods have told of their outputs would be taken for what the new ones tell. Argo
        # deletes it at the end of a run, so an account that may not can go on.
        results = _Kind(client, f"{group}/workflowtaskresults", name, unless=(403,))
        results.delete(wanted.nodes)
        # A part that is held starts no pods: the run that starts it is put back last, and waits.
        is_held = has_ended(wanted.workflow)
        settle(read_nodes(found), wanted.nodes, marked, grace_s, 0.0 if is_held else HEARS_S)
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


def _wait_until_done(
    pods: _Kind, names: Collection[str], workflow: Json, patience: Patience
) -> datetime | None:
    """Wait until the controller is done with pods, and return when it was at the latest, if known.

    A controller that was restarted comes to it no more, so after some time they are taken as done.
    """
    limit_s = min(patience.total_s, busy_s(workflow, datetime.now(UTC)))
    waits = replace(patience, total_s=limit_s).begin()
    has_told = False
    while True:
        found = pods.found(names)
        left = sorted(one for one, pod in found.items() if not pod.is_done)
        if not left:
            break
        if not has_told and waits.left_s < limit_s - _QUIET_S:
            has_told = True
            notices.say(
                "argo: its controller still has to do with pods of the run that has ended; waits "
                f"for at most {waits.left_s:.0f} s"
            )
        if not waits.wait():
            _tell_of_pods_left(left, workflow, has_waited=limit_s > 0)
            break
    times = [pod.marked_at for pod in found.values() if pod.marked_at is not None]
    if waits.count and not left:
        times.append(datetime.now(UTC))
    return max(times, default=None)


def _tell_of_pods_left(left: list[str], workflow: Json, *, has_waited: bool) -> None:
    cleanup = effective_spec(workflow).get("podGC") or {}
    if has_waited or cleanup.get("deleteDelayDuration"):
        more = f", and {len(left) - 1} more," if len(left) > 1 else ""
        notices.say(
            f"argo: its controller has not marked the pod {left[0]}{more} as done, and may still "
            "end or delete what has that name"
        )


class _Object(t.NamedTuple):
    """What is known of an object; times of grace and marks are of pods."""

    grace_s: float
    is_done: bool
    marked_at: datetime | None


class _Kind:
    """Objects of a kind that belong to a Workflow; `unless` are refusals that do not matter."""

    def __init__(
        self, client: RestClient, path: str, workflow: str, *, unless: Collection[int] = ()
    ) -> None:
        self._client = client
        self._path = path
        self._absent = (404, *unless)
        self._of = f"workflows.argoproj.io/workflow={workflow}"

    def delete(self, names: Collection[str]) -> float:
        """Delete those that are there, and return the longest time of grace of them all."""
        found = self.found(names)
        for name in sorted(found):
            self._client.call("DELETE", f"{self._path}/{name}", absent=self._absent)
        times = [one.grace_s for one in found.values()]
        return max(times + [GRACE_S] * (len(times) < len(names)), default=GRACE_S)

    def wait_until_gone(self, names: Collection[str], patience: Patience) -> None:
        """Wait until none of them is there."""
        waits = patience.begin()
        while left := sorted(self.found(names)):
            if not waits.wait():
                raise RefusedError(
                    f"argo: the pod {left[0]} was deleted, so that its step can run again, but is "
                    "still there. Look for what holds it (kubectl describe pod), and try again"
                )

    def found(self, names: Collection[str]) -> dict[str, _Object]:
        """Return those that are there of some, by their names."""
        wanted, found = frozenset(names), dict[str, _Object]()
        params: dict[str, str | int | bool] = {"labelSelector": self._of, "limit": 500}
        while True:
            answer = self._client.call(
                "GET", self._path, params=params, absent=self._absent, expect=_NAMES
            )
            if answer is None:
                return found
            for one in answer.get("items") or ():
                if (name := one["metadata"]["name"]) in wanted:
                    stated = (one.get("spec") or {}).get("terminationGracePeriodSeconds")
                    grace_s = GRACE_S if stated is None else float(stated)
                    found[name] = _Object(grace_s, is_done_with(one), marked_at(one))
            more = answer["metadata"].get("continue")
            if not more:
                return found
            params["continue"] = more
