"""Putting a Workflow back through the Kubernetes API, and what can go wrong on the way."""

from __future__ import annotations

import json
import typing as t
from dataclasses import replace

import pytest

from couler.backends.argo.cluster_restart import RestartChange
from couler.backends.argo.observe import Observer
from couler.backends.argo.remote import putting_back
from couler.backends.argo.reset import has_ended, pod_name
from couler.backends.base import Artifact, ArtifactFile
from couler.errors import EngineError, RefusedError
from couler.rest.patience import Patience
from tests.backends.argo.cluster_restart.conftest import Place
from tests.fakes.kubernetes.faults import CutOffError, RequestFault
from tests.fakes.kubernetes.store import PODS, WORKFLOWS, Resource
from tests.support.argo_recordings import CHAIN, chain, submission

QUICK = Patience(first_s=0.001, cap_s=0.01, total_s=30.0)
CONFIG_MAPS = Resource("", "v1", "configmaps")


def test_changes_without_end(place: Place) -> None:
    place.faults.add(RequestFault("PUT", "/workflows/", code=409))
    with pytest.raises(RefusedError, match="changes too often to be changed from here"):
        place.restart()


def test_a_restart_that_never_arrived_is_made_again(place: Place) -> None:
    place.faults.add(RequestFault("PUT", "/workflows/", times=1, cut="before"))
    place.patient(QUICK).restart(place.run, place.wanted)
    assert not has_ended(place.workflow)


def test_a_restart_of_somebody_else_is_told_apart(place: Place) -> None:
    """While an answer is lost, somebody else restarts the run: that is no success from here."""
    place.faults.add(RequestFault("PUT", "/workflows/", times=1, cut="before"))
    taken = place.faults.of_request

    def another(method: str, path: str, *, watch: bool = False) -> t.Any:
        try:
            return taken(method, path, watch=watch)
        except CutOffError:
            place.store.change(WORKFLOWS, "default", CHAIN, _restarted)
            raise

    place.faults.of_request = another  # type: ignore[method-assign]  # what a test lets go wrong
    with pytest.raises(EngineError, match=r"has not ended.*earlier attempt is not known") as caught:
        place.patient(QUICK).restart(place.run, place.wanted)
    assert not isinstance(caught.value, RefusedError)


def _restarted(found: t.Any) -> None:
    del found["metadata"]["labels"]["workflows.argoproj.io/completed"]


def test_a_restart_that_cannot_be_looked_for_is_not_refused(place: Place) -> None:
    place.faults.add(RequestFault("PUT", "/workflows/", times=1, cut="after"))
    place.faults.add(RequestFault("PUT", "/workflows/", code=403))
    taken = place.faults.of_request

    def blind(method: str, path: str, *, watch: bool = False) -> t.Any:
        if method == "PUT":
            place.faults.add(RequestFault("GET", "/workflows/", code=401))
        return taken(method, path, watch=watch)

    place.faults.of_request = blind  # type: ignore[method-assign]  # what a test lets go wrong
    with pytest.raises(EngineError, match=r"PUT .* refused with 403.*earlier attempt") as caught:
        place.patient(QUICK).restart(place.run, place.wanted)
    assert not isinstance(caught.value, RefusedError)
    assert not has_ended(place.workflow)


@pytest.mark.parametrize("method", ["GET", "DELETE"])
def test_without_access_to_pods_nothing_is_changed(place: Place, method: str) -> None:
    place.faults.add(RequestFault(method, "/pods", code=403))
    with pytest.raises(EngineError, match="403: refused by the test"):
        place.restart()
    assert has_ended(place.workflow)


@pytest.mark.parametrize("method", ["GET", "DELETE"])
def test_what_pods_have_told_is_deleted_where_that_is_allowed(place: Place, method: str) -> None:
    place.faults.add(RequestFault(method, "/workflowtaskresults", code=403))
    place.restart()
    assert not has_ended(place.workflow)


def test_a_pod_that_does_not_go(place: Place) -> None:
    [bad] = [
        node for node in place.workflow["status"]["nodes"].values() if node["displayName"] == "bad"
    ]
    name = pod_name(CHAIN, bad)

    def hold(found: t.Any) -> None:
        found["metadata"]["finalizers"] = ["example.com/held"]

    place.store.change(PODS, "default", name, hold)
    put_back = putting_back(Observer(place.run.workflow), place.workflow, place.wanted)
    soon = Patience(first_s=0.01, cap_s=0.01, total_s=0.1)
    change = RestartChange(
        place.client, "default", CHAIN, put_back, read=place.api.get, settled=set(), gone=soon
    )
    with pytest.raises(RefusedError, match=f"the pod {name} was deleted.*is still there"):
        place.api.change(CHAIN, change)
    assert has_ended(place.workflow)


def test_a_refused_restart_has_changed_nothing(place: Place) -> None:
    def go_on(found: t.Any) -> None:
        found["metadata"]["labels"].pop("workflows.argoproj.io/completed")

    place.store.change(WORKFLOWS, "default", CHAIN, go_on)
    settings = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "settings"}}
    items = [{**settings, "data": {"n": "new"}}, place.workflow]
    artifact = Artifact(
        "argo", (ArtifactFile("all.json", json.dumps({"kind": "List", "items": items})),)
    )
    place.wanted = replace(place.wanted, artifact=artifact)
    with pytest.raises(RefusedError, match="has not ended"):
        place.restart()
    assert place.names(CONFIG_MAPS) == set()

    def end(found: t.Any) -> None:
        found["metadata"]["labels"]["workflows.argoproj.io/completed"] = "true"

    place.store.change(WORKFLOWS, "default", CHAIN, end)
    place.restart()
    assert place.names(CONFIG_MAPS) == {"settings"}


def test_a_run_is_known_by_what_began_it_and_by_what_it_went_on_with(place: Place) -> None:
    changed = chain("/elsewhere")
    place.wanted = replace(
        place.wanted, workflow=changed, artifact=submission(changed, CHAIN).artifact
    )
    place.restart()
    assert place.remote.submit(submission(chain(), CHAIN))["name"] == CHAIN
    assert place.remote.submit(submission(changed, CHAIN))["name"] == CHAIN
    with pytest.raises(RefusedError, match="of another workflow"):
        place.remote.submit(submission(chain("/third"), CHAIN))
