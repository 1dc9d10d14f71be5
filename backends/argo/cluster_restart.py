"""Putting a Workflow back through the Kubernetes API: its pods first, then its status."""

from __future__ import annotations

import typing as t
from collections.abc import Callable
from datetime import datetime

from couler.backends.argo.controller_wait import wait_for_controller, wait_until_heard
from couler.backends.argo.owned_objects import OwnedObjects
from couler.backends.argo.reset import PutBack, Reset, has_ended
from couler.backends.argo.settling import end_of
from couler.backends.remote import UnbegunInterrupt
from couler.errors import RefusedError
from couler.rest.client import RestClient
from couler.rest.patience import Patience

Json: t.TypeAlias = t.Any

_GONE = Patience(first_s=0.1, cap_s=2.0, total_s=60.0)
"""How long a pod that is deleted may still be there; most have ended, and go at once."""

Settled: t.TypeAlias = set[tuple[str, datetime | None, tuple[str, ...]]]
"""Names of Workflows, their ends, and pods for which it has been waited after these ends."""


def restarting(
    client: RestClient,
    namespace: str,
    name: str,
    put_back: PutBack,
    *,
    read: Callable[[str], Json],
    settled: Settled,
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
        Gets a Workflow as it is by now.
    settled
        For what it has been waited already; what is waited for is added.
    first
        Called once, after the wait and before anything is changed.
    gone
        How long pods may take to go.

    Raises
    ------
    UnbegunInterrupt
        It was interrupted in the wait, before anything was changed.

    Notes
    -----
    What breaks off in between can be done again: pods that are gone already are no matter, and the
    Workflow is changed as a whole, if nothing else has changed it (`metadata.resourceVersion`).
    """
    group = f"/apis/argoproj.io/v1alpha1/namespaces/{namespace}"
    is_first, is_heard = True, False

    def of(workflow: str) -> OwnedObjects:
        return OwnedObjects(client, f"/api/v1/namespaces/{namespace}/pods", workflow)

    pods = of(name)
    # What the pods have told of their outputs would be taken for what the new ones tell. Argo
    # deletes it at the end of a run, so an account that may not can go on.
    results = OwnedObjects(client, f"{group}/workflowtaskresults", name, unless=(403,))

    def settle(found: Json, wanted: Reset) -> bool:
        """Wait for the controller if that was not done; return whether it was."""
        of_run: str = found["metadata"]["name"]
        key = (of_run, end_of(found), wanted.pods)
        if key in settled:
            return True
        wait_for_controller(of(of_run), found, wanted)
        settled.add(key)
        return False

    def settle_all(found: Json) -> Reset:
        """Wait for all that belongs to the run, and return what this is to be by then."""
        while True:
            wanted = put_back(found)
            is_settled = settle(found, wanted)
            for one, put_one_back in wanted.family.items():
                is_settled &= settle(member := read(one), put_one_back(member))
            if is_settled:
                return wanted
            # Meanwhile others may have restarted the run, which then has pods of the same names.
            found = read(name)
            refuse_running(found)

    def make(found: Json) -> Json:
        nonlocal is_first, is_heard
        refuse_running(found)
        try:
            wanted = settle_all(found)
        except KeyboardInterrupt as error:
            if is_first:
                raise UnbegunInterrupt from error
            raise
        if is_first:
            first()
            is_first = False
        if pods.delete(wanted.pods):
            is_heard = False
        pods.wait_until_gone(wanted.pods, gone)
        results.delete(wanted.nodes)
        # A part that is held starts no pods: the run that starts it is put back last, and waits.
        if wanted.pods and not is_heard and not has_ended(wanted.workflow):
            wait_until_heard()
            is_heard = True
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
