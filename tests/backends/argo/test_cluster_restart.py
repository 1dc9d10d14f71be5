"""Putting a Workflow back through the Kubernetes API, and what can go wrong on the way."""

from __future__ import annotations

import copy
import json
import threading
import types
import typing as t
from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest

from couler.backends.argo.changing import MARK
from couler.backends.argo.cluster_api import ClusterApi
from couler.backends.argo.cluster_restart import restarting
from couler.backends.argo.observe import Observer
from couler.backends.argo.remote import ArgoRemote
from couler.backends.argo.reset import has_ended, pod_name
from couler.backends.argo.restarting import putting_back
from couler.backends.argo.settling import HEARS_S, busy_s, settle_s
from couler.backends.base import Artifact, ArtifactFile
from couler.backends.remote import RemoteRun, Restart
from couler.errors import EngineError, LostRunError, RefusedError
from couler.rest.client import RestClient
from couler.rest.notices import listening
from couler.rest.patience import IMPATIENT, Patience
from tests.fakes.kubernetes.faults import CutOffError, Faults, RequestFault
from tests.fakes.kubernetes.server import Server
from tests.fakes.kubernetes.store import PODS, WORKFLOWS, ApiError, Resource, Store
from tests.support.argo_recordings import AGAIN, CHAIN, chain, recorded, submission

QUICK = Patience(first_s=0.001, cap_s=0.01, total_s=30.0)
RESULTS = Resource("argoproj.io", "v1alpha1", "workflowtaskresults")
CONFIG_MAPS = Resource("", "v1", "configmaps")
OF_RUN = {"workflows.argoproj.io/workflow": CHAIN}


class Place:
    """A cluster with a run that has failed, its pods among others."""

    def __init__(self) -> None:
        self.store = Store()
        self.faults = Faults()
        self.server = Server(self.store, faults=self.faults)

    def fill(self) -> None:
        workflow = chain()
        one = submission(workflow, CHAIN)
        self.remote.submit(one)
        self.run = RemoteRun(CHAIN, workflow, {"name": CHAIN})
        self.wanted = Restart(workflow, one.artifact, {}, AGAIN)

        self.end()
        for node in self.workflow["status"]["nodes"].values():
            if node["type"] == "Pod":
                self.pod(pod_name(CHAIN, node), OF_RUN)
                result = {"metadata": {"name": node["id"], "labels": OF_RUN}}
                self.store.create(RESULTS, "default", result)
        self.pod("of-others", {})

    def end(self) -> None:
        def end(found: t.Any) -> None:
            found["status"] = copy.deepcopy(recorded("chain")[-1])
            found["metadata"]["labels"]["workflows.argoproj.io/completed"] = "true"

        self.store.change(WORKFLOWS, "default", CHAIN, end)

    def pod(self, name: str, labels: dict[str, str]) -> None:
        metadata = {"name": name, "labels": labels}
        self.store.create(PODS, "default", {"metadata": metadata, "spec": {"containers": []}})

    def patient(self, patience: Patience) -> ArgoRemote:
        address = f"http://{self.server.address}"
        client = RestClient("argo", address, extra="argo", patience=patience)
        return ArgoRemote(ClusterApi(client, "default"))

    @property
    def client(self) -> RestClient:
        address = f"http://{self.server.address}"
        return RestClient("argo", address, extra="argo", patience=IMPATIENT)

    @property
    def remote(self) -> ArgoRemote:
        return ArgoRemote(self.api)

    @property
    def api(self) -> ClusterApi:
        return ClusterApi(self.client, "default")

    @property
    def workflow(self) -> t.Any:
        return self.store.get(WORKFLOWS, "default", CHAIN)

    def names(self, resource: Resource) -> set[str]:
        return {one["metadata"]["name"] for one in self.store.list(resource, lambda _: True)[1]}

    def restart(self) -> None:
        self.remote.restart(self.run, self.wanted)


@pytest.fixture(autouse=True)
def slept(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """For how long restarts would have slept."""
    slept: list[float] = []
    clock = types.SimpleNamespace(sleep=slept.append)
    monkeypatch.setattr("couler.backends.argo.settling.time", clock)
    return slept


@pytest.fixture
def place() -> Iterator[Place]:
    place = Place()
    with place.server:
        place.fill()
        yield place


KEPT = {"first", "each", "each(0:a)", "each(1:b)", CHAIN}


def test_pods_and_nodes_of_what_runs_again_go(place: Place) -> None:
    pods, results = len(place.names(PODS)), len(place.names(RESULTS))
    place.restart()
    assert not has_ended(place.workflow)
    names = {node["displayName"] for node in place.workflow["status"]["nodes"].values()}
    assert names == KEPT
    gone = 2  # `bad` and the step of the exit handler; `after` had no pod
    assert "of-others" in place.names(PODS)
    assert len(place.names(PODS)) == pods - gone
    assert len(place.names(RESULTS)) == results - gone


def test_another_change_in_between_is_looked_at_anew(place: Place) -> None:
    place.faults.add(RequestFault("PUT", "/workflows/", code=409, times=2))
    place.restart()
    assert not has_ended(place.workflow)


def test_changes_without_end(place: Place) -> None:
    place.faults.add(RequestFault("PUT", "/workflows/", code=409))
    with pytest.raises(RefusedError, match="changes too often to be changed from here"):
        place.restart()


Cut = t.Literal["after", "within"]


@pytest.mark.parametrize("cut", ["after", "within"])
@pytest.mark.parametrize("patience", [QUICK, IMPATIENT])
def test_a_restart_whose_answer_is_lost_is_done(place: Place, cut: Cut, patience: Patience) -> None:
    place.faults.add(RequestFault("PUT", "/workflows/", times=1, cut=cut))
    version = place.workflow["metadata"]["resourceVersion"]
    assert place.patient(patience).restart(place.run, place.wanted) == place.run.place
    assert not has_ended(place.workflow)
    assert int(place.workflow["metadata"]["resourceVersion"]) > int(version)


def test_a_restart_that_the_server_broke_off_is_looked_for(place: Place) -> None:
    """Kubernetes answers 500 and 504 also where what was asked is stored a moment later."""
    update = place.store.update

    def updating(*given: t.Any, **more: t.Any) -> t.Any:
        update(*given, **more)
        raise ApiError(504, "Timeout", "request did not complete in time")

    place.store.update = updating  # type: ignore[method-assign]  # what a test lets go wrong
    place.restart()
    assert not has_ended(place.workflow)


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
    place.faults.add(RequestFault("PUT", "/workflows/", times=1, code=403))
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


def test_each_restart_has_its_own_mark(place: Place) -> None:
    marks = set()
    for _ in range(2):
        place.restart()
        marks.add(place.workflow["metadata"]["annotations"][MARK])
        place.end()
    assert len(marks) == 2


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


def test_what_broke_off_can_be_begun_again(place: Place) -> None:
    place.faults.add(RequestFault("PUT", "/workflows/", code=500, times=1))
    with pytest.raises(EngineError, match="500: refused by the test"):
        place.restart()
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
    make = restarting(place.client, "default", CHAIN, put_back, gone=soon)
    with pytest.raises(RefusedError, match=f"the pod {name} was deleted.*is still there"):
        place.api.change(CHAIN, make)
    assert has_ended(place.workflow)


DONE_LABEL = "workflows.argoproj.io/completed"
SOON = Patience(first_s=0.01, cap_s=0.01, total_s=0.1)


def end_now(place: Place, **spec: object) -> None:
    """Let the run have ended just now, but its steps long ago."""

    def change(found: t.Any) -> None:
        found["status"]["finishedAt"] = datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
        found["spec"].update(spec)

    place.store.change(WORKFLOWS, "default", CHAIN, change)


def pods_again(place: Place) -> set[str]:
    """Names of the pods that go when the run is restarted."""
    put_back = putting_back(Observer(place.run.workflow), place.workflow, place.wanted)
    return set(put_back(place.workflow).pods) & place.names(PODS)


def restart_soon(place: Place, patience: Patience) -> list[str]:
    """Restart with a patience until the controller is done with pods, and return what is said."""
    put_back = putting_back(Observer(place.run.workflow), place.workflow, place.wanted)
    told: list[str] = []
    with listening(told.append):
        place.api.change(CHAIN, restarting(place.client, "default", CHAIN, put_back, done=patience))
    assert not has_ended(place.workflow)
    return told


def mark(place: Place, pod: str) -> None:
    """Mark a pod as done, as the controller does."""
    place.store.patch(PODS, "default", pod, {"metadata": {"labels": {DONE_LABEL: "true"}}})


def test_pods_stay_until_the_controller_is_done_with_them(
    place: Place, slept: list[float], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("couler.backends.argo.cluster_restart._QUIET_S", -1.0)
    end_now(place)
    last, *others = sorted(pods_again(place))
    [mark(place, one) for one in others]
    timer = threading.Timer(0.5, mark, (place, last))  # fails if the pod has gone by then
    timer.start()
    failed: list[object] = []
    monkeypatch.setattr("threading.excepthook", failed.append)
    [first, second] = restart_soon(place, Patience(first_s=0.01, cap_s=0.02, total_s=30.0))
    timer.join()
    assert not failed
    assert first.startswith("argo: its controller still has to do with pods of the run that has en")
    [waited_s] = slept
    assert 30 < waited_s <= 35, "what it is to kill may have been queued just before"
    assert second.startswith(f"argo: begins in {waited_s:.0f} s")


def test_the_time_of_the_mark_counts(place: Place, slept: list[float]) -> None:
    end_now(place)
    ago = (datetime.now(UTC) - timedelta(seconds=10)).strftime("%Y-%m-%dT%H:%M:%SZ")
    labels = {"f:metadata": {"f:labels": {f"f:{DONE_LABEL}": {}}}}
    others = {"time": ago, "fieldsV1": {"f:status": {}}}
    for pod in pods_again(place):
        mark(place, pod)
        fields = [others, {"time": ago, "fieldsV1": labels}]
        place.store.patch(PODS, "default", pod, {"metadata": {"managedFields": fields}})
    restart_soon(place, SOON)
    [waited_s] = slept
    assert 15 < waited_s <= 26, "ten seconds less, of which the clock tells whole ones"


def test_pods_that_are_not_marked_are_waited_for_no_longer_and_told(place: Place) -> None:
    end_now(place)
    last, *_ = pods = sorted(pods_again(place))
    assert len(pods) == 2
    [told] = restart_soon(place, SOON)
    assert told == (
        f"argo: its controller has not marked the pod {last}, and 1 more, as done, and may still "
        "end or delete what has that name"
    )


@pytest.mark.parametrize("delay", [None, "2h"])
def test_of_a_run_that_ended_long_ago_pods_that_are_not_marked_are_told_if_they_are_to_be_deleted(
    place: Place, delay: str | None
) -> None:
    def change(found: t.Any) -> None:
        found["spec"]["podGC"] = {"strategy": "OnPodCompletion", "deleteDelayDuration": delay}

    place.store.change(WORKFLOWS, "default", CHAIN, change)
    told = restart_soon(place, Patience(total_s=60.0))
    assert len(told) == (0 if delay is None else 1)


@pytest.mark.parametrize(
    ("ago_s", "expected"), [(0, 300.0), (100, 200.0), (300, 0.0), (9999, 0.0), (-50, 300.0)]
)
def test_how_long_the_controller_may_be_busy(ago_s: int, expected: float) -> None:
    now = datetime(2026, 3, 1, 12, tzinfo=UTC)
    ended = (now - timedelta(seconds=ago_s)).strftime("%Y-%m-%dT%H:%M:%SZ")
    assert busy_s({"status": {"finishedAt": ended}}, now) == expected
    assert busy_s({}, now) == 300.0


def test_a_run_that_is_gone(place: Place) -> None:
    place.remote.delete(place.run)
    with pytest.raises(LostRunError, match="there is no Workflow chain-1"):
        place.restart()


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


def test_what_ended_just_now_is_waited_for(place: Place, slept: list[float]) -> None:
    now = datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")

    def end_now(found: t.Any) -> None:
        for node in found["status"]["nodes"].values():
            node["finishedAt"] = now

    place.store.change(WORKFLOWS, "default", CHAIN, end_now)
    told: list[str] = []
    with listening(told.append):
        place.restart()
    [waited_s] = slept
    assert 25 < waited_s <= 35
    assert told[0].startswith(f"argo: begins in {waited_s:.0f} s: until then its controller may")
    assert not has_ended(place.workflow)


def test_the_controller_hears_that_old_pods_are_gone_before_there_are_new_ones(
    place: Place, slept: list[float], monkeypatch: pytest.MonkeyPatch
) -> None:
    seen: list[tuple[float, bool, bool]] = []

    def look(seconds: float) -> None:
        seen.append((seconds, not again & place.names(PODS), has_ended(place.workflow)))

    again = pods_again(place)
    assert again
    monkeypatch.setattr("couler.backends.argo.settling.time", types.SimpleNamespace(sleep=look))
    told: list[str] = []
    with listening(told.append):
        place.restart()
    assert seen == [(HEARS_S, True, True)]
    assert not told
    assert not has_ended(place.workflow)


@pytest.mark.parametrize(
    ("ends", "grace_s", "expected"),
    [
        ({}, 30.0, HEARS_S),  # one has begun
        ({"a": 100}, 30.0, HEARS_S),
        ({"a": 20}, 30.0, 15.0),
        ({"a": 20, "b": 5}, 30.0, 30.0),
        ({"a": 5}, 2.0, HEARS_S),
        ({"a": 5}, 8.0, 8.0),
        ({"a": -3600}, 30.0, 35.0),  # a clock that is slow
    ],
)
def test_how_long_is_waited(ends: dict[str, int], grace_s: float, expected: float) -> None:
    now = datetime(2026, 3, 1, 12, tzinfo=UTC)
    nodes: dict[str, t.Any] = {
        name: {
            "type": "Pod",
            "finishedAt": (now - timedelta(seconds=ago)).strftime("%Y-%m-%dT%H:%M:%SZ"),
        }
        for name, ago in ends.items()
    }
    nodes["dag"] = {"type": "DAG", "finishedAt": "2026-03-01T12:00:00Z"}
    nodes["begun"] = {"type": "Pod", "finishedAt": None}
    assert settle_s(nodes, [*nodes, "gone"], now, None, grace_s) == expected
    assert settle_s(nodes, ["dag", "gone"], now, now, grace_s) == 0.0
    marked = now - timedelta(seconds=4)
    assert settle_s(nodes, [*nodes, "gone"], now, marked, grace_s) == max(expected, grace_s + 1)
