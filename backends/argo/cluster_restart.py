"""Putting a Workflow back through the Kubernetes API: its pods first, then its status."""

from __future__ import annotations

import typing as t
from collections.abc import Callable, Collection

from couler.backends.argo.reset import PutBack, has_ended
from couler.backends.argo.settling import GRACE_S, HEARS_S, settle
from couler.backends.argo.status_nodes import read_nodes
from couler.errors import RefusedError
from couler.rest.answers import Shape
from couler.rest.client import RestClient
from couler.rest.patience import Patience

Json: t.TypeAlias = t.Any

_NAMES: Shape = {"items": {"metadata.name": str}, "metadata": dict}

_GONE = Patience(first_s=0.1, cap_s=2.0, total_s=60.0)
"""How long a pod that is deleted may still be there; most have ended, and go at once."""


def restarting(
    client: RestClient,
    namespace: str,
    name: str,
    put_back: PutBack,
    *,
    first: Callable[[], object] = lambda: None,
    gone: Patience = _GONE,
) -> Callable[[Json], Json]:
    """Return what makes the Workflow of an ended run one that begins parts of it again.

    It deletes the pods of these parts.

    Parameters
    ----------
    client, namespace, name
        Where the Workflow is.
    put_back
        Says what it is to be.
    first
        Called once, before anything is changed.
    gone
        How long pods may take to go.

    Notes
    -----
    What breaks off in between can be done again: pods that are gone already are no matter, and the
    Workflow is changed as a whole, if nothing else has changed it (`metadata.resourceVersion`).
    """
    group = f"/apis/argoproj.io/v1alpha1/namespaces/{namespace}"
    is_first = True

    def make(found: Json) -> Json:
        nonlocal is_first
        refuse_running(found)
        wanted = put_back(found)
        if is_first:
            first()
            is_first = False
        pods = _Kind(client, f"/api/v1/namespaces/{namespace}/pods", name)
        grace_s = pods.delete(wanted.pods)
        pods.wait_until_gone(wanted.pods, gone)
        # What the pods have told of their outputs would be taken for what the new ones tell. Argo
        # deletes it at the end of a run, so an account that may not can go on.
        results = _Kind(client, f"{group}/workflowtaskresults", name, unless=(403,))
        results.delete(wanted.nodes)
        # A part that is held starts no pods: the run that starts it is put back last, and waits.
        is_held = has_ended(wanted.workflow)
        settle(read_nodes(found), wanted.nodes, grace_s, 0.0 if is_held else HEARS_S)
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
        found = self._found()
        for name in sorted(found.keys() & set(names)):
            self._client.call("DELETE", f"{self._path}/{name}", absent=self._absent)
        return max((found.get(name, GRACE_S) for name in names), default=GRACE_S)

    def wait_until_gone(self, names: Collection[str], patience: Patience) -> None:
        """Wait until none of them is there."""
        waits = patience.begin()
        while left := sorted(self._found().keys() & set(names)):
            if not waits.wait():
                raise RefusedError(
                    f"argo: the pod {left[0]} was deleted, so that its step can run again, but is "
                    "still there. Look for what holds it (kubectl describe pod), and try again"
                )

    def _found(self) -> dict[str, float]:
        """Return those that are there by their names, with the times of grace that pods have."""
        found: dict[str, float] = {}
        params: dict[str, str | int | bool] = {"labelSelector": self._of, "limit": 500}
        while True:
            answer = self._client.call(
                "GET", self._path, params=params, absent=self._absent, expect=_NAMES
            )
            if answer is None:
                return found
            for one in answer.get("items") or ():
                stated = (one.get("spec") or {}).get("terminationGracePeriodSeconds")
                found[one["metadata"]["name"]] = GRACE_S if stated is None else float(stated)
            more = answer["metadata"].get("continue")
            if not more:
                return found
            params["continue"] = more
