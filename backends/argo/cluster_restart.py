"""Putting a Workflow back through the Kubernetes API: its pods first, then its status."""

from __future__ import annotations

import typing as t
from collections.abc import Callable
from datetime import datetime

from couler.backends.argo.controller_wait import wait_for_controller, wait_until_heard
from couler.backends.argo.owned_objects import OwnedObjects, OwnedPods
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
