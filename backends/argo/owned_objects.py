"""Objects of a cluster that belong to a Workflow: its pods, and what they have told."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator

from couler.backends.argo.settling import OldPod, read_pod
from couler.backends.argo.workflow_api import COMPLETED_LABEL
from couler.backends.remote import Json
from couler.errors import RefusedError
from couler.rest.answers import Shape
from couler.rest.client import RestClient
from couler.rest.patience import Patience

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
