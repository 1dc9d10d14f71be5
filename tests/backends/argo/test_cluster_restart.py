"""Putting a Workflow back through the Kubernetes API, and what can go wrong on the way."""

from __future__ import annotations

import copy
import json
import typing as t
import urllib.request
from collections.abc import Callable, Iterator
from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest

from couler.backends.argo.changing import MARK
from couler.backends.argo.cluster_api import ClusterApi
from couler.backends.argo.cluster_restart import HEARS_S, restarting
from couler.backends.argo.observe import Observer
from couler.backends.argo.remote import ArgoRemote
from couler.backends.argo.reset import Reset, has_ended, pod_name
from couler.backends.argo.restarting import putting_back
from couler.backends.argo.settling import OldPod, deleted_at, late_s, left_s
from couler.backends.argo.workflow_api import COMPLETED_LABEL
from couler.backends.base import Artifact, ArtifactFile
from couler.backends.remote import RemoteRun, Restart, UnbegunInterrupt
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
                self.pod(pod_name(CHAIN, node), {**OF_RUN, COMPLETED_LABEL: "false"})
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


class Clock:
    """Sleeps at once, tells for how long it would have, and does something after a sleep."""

    def __init__(self) -> None:
        self.slept: list[float] = []
        self.then: Callable[[float], object] = lambda _: None

    def sleep(self, seconds: float) -> None:
        self.slept.append(seconds)
        assert len(self.slept) < 1000, "it waits for ever"
        self.then(sum(self.slept))

    def monotonic(self) -> float:
        return sum(self.slept)


@pytest.fixture(autouse=True)
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    """The clock of restarts."""
    clock = Clock()
    monkeypatch.setattr("couler.backends.argo.cluster_restart.time", clock)
    return clock


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
    make = restarting(
        place.client, "default", CHAIN, put_back, read=place.api.get, settled=set(), gone=soon
    )
    with pytest.raises(RefusedError, match=f"the pod {name} was deleted.*is still there"):
        place.api.change(CHAIN, make)
    assert has_ended(place.workflow)


DONE = {"metadata": {"labels": {COMPLETED_LABEL: "true"}}}
GC = "workflows.argoproj.io/pod-gc-strategy"


def stamp(ago_s: float = 0.0) -> str:
    return (datetime.now(UTC) - timedelta(seconds=ago_s)).strftime("%Y-%m-%dT%H:%M:%SZ")


def ended(place: Place, ago_s: float) -> None:
    """Let the run, and all its steps, have ended some seconds ago."""

    def change(found: t.Any) -> None:
        found["status"]["finishedAt"] = stamp(ago_s)
        for node in found["status"]["nodes"].values():
            node["finishedAt"] = stamp(ago_s)

    place.store.change(WORKFLOWS, "default", CHAIN, change)


def pods_again(place: Place) -> list[str]:
    """Names of the pods that go when the run is restarted."""
    put_back = putting_back(Observer(place.run.workflow), place.workflow, place.wanted)
    names = sorted(set(put_back(place.workflow).pods) & place.names(PODS))
    assert len(names) == 2
    return names


def told_by_restart(place: Place) -> list[str]:
    told: list[str] = []
    with listening(told.append):
        place.restart()
    assert not has_ended(place.workflow)
    return told


def mark(place: Place, pod: str, *, ago_s: float = 0.0) -> None:
    """Mark a pod as done, as the controller does over HTTP."""
    url = f"http://{place.server.address}/api/v1/namespaces/default/pods/{pod}"
    merge = {"Content-Type": "application/merge-patch+json"}
    request = urllib.request.Request(url, json.dumps(DONE).encode(), merge, method="PATCH")
    with urllib.request.urlopen(request) as answer:
        [field] = json.load(answer)["metadata"]["managedFields"]
    other = {**field, "time": stamp(), "fieldsV1": {"f:metadata": {"f:labels": {"f:a": {}}}}}
    fields = [other, {**field, "time": stamp(ago_s)}]
    place.store.patch(PODS, "default", pod, {"metadata": {"managedFields": fields}})


def test_pods_stay_until_the_controller_is_done_with_them(place: Place, clock: Clock) -> None:
    ended(place, 40)
    first, second = pods_again(place)

    def come_to_it(seconds: float) -> None:
        # Each is there until it is marked: else this fails.
        if seconds > 50 and first not in marked:
            marked.append(first)
            mark(place, first)
        if seconds > 100 and second not in marked:
            assert place.names(PODS) >= {first, second}
            marked.append(second)
            mark(place, second)

    marked: list[str] = []
    clock.then = come_to_it
    told = told_by_restart(place)
    assert marked == [first, second]
    *looks, waited_s, hears_s = clock.slept
    assert 100 < sum(looks) < 106
    assert max(looks) == 5.0
    assert 75 < waited_s <= 90, "twice as long as the marks were late"
    assert hears_s == HEARS_S
    waits, begins = told
    assert waits == (
        "argo: waits until its controller is done with 2 pods of the run that has ended. Nothing "
        "is changed yet"
    )
    assert begins.startswith(f"argo: begins in {waited_s:.0f} s: until then its controller may kil")


def test_pods_that_the_controller_deletes_are_waited_for_no_longer(
    place: Place, clock: Clock
) -> None:
    ended(place, 1)

    def delete(seconds: float) -> None:
        while pods and seconds > 1:
            place.store.remove(PODS, "default", pods.pop())

    pods = pods_again(place)
    clock.then = delete
    assert len(told_by_restart(place)) == 1
    *_, waited_s, _ = clock.slept
    assert 30 < waited_s <= 35, "what it was to kill may have been queued just before"


def test_without_any_mark_for_a_minute_it_is_waited_no_longer_and_told(
    place: Place, clock: Clock
) -> None:
    ended(place, 600)
    pods = pods_again(place)
    others = sorted(place.names(PODS) - {"of-others", *pods})[:1]

    def come_to_others(seconds: float) -> None:
        if others and seconds > 50:
            mark(place, others.pop())

    clock.then = come_to_others
    told = told_by_restart(place)
    assert told[-1] == (
        f"argo: its controller has not marked the pod {pods[0]} (and 1 more) as done, and is not "
        "waited for any longer. If it comes to that later, it may end what has the name: look "
        "whether it runs"
    )
    assert 110 < sum(clock.slept) < 130, "a minute since the last mark, which was of other pods"


@pytest.mark.parametrize(
    ("ended_ago", "marked_ago", "expected"),
    [
        (20, (19, 18), 17.0),  # 35 s
        (60, (59, 55), 0.0),
        (60, (58, 30), 30.0),  # 30 s late, so for 60 s
        (100, (40, 100), 80.0),
        (3000, (2900, 100), 500.0),  # ten minutes at most
    ],
)
def test_the_time_of_the_last_mark_counts_and_how_late_it_was(
    place: Place, clock: Clock, ended_ago: int, marked_ago: tuple[int, int], expected: float
) -> None:
    ended(place, ended_ago)
    for pod, ago_s in zip(pods_again(place), marked_ago, strict=True):
        mark(place, pod, ago_s=ago_s)
    told_by_restart(place)
    *waits, hears_s = clock.slept
    assert hears_s == HEARS_S
    assert sum(waits) == pytest.approx(expected, abs=3.1)  # times are in whole seconds


def test_the_mark_of_another_pod_tells_how_late_the_controller_is(
    place: Place, clock: Clock
) -> None:
    ended(place, 100)
    again = pods_again(place)
    for pod in again:
        mark(place, pod, ago_s=95)
    other = min(place.names(PODS) - {"of-others", *again})
    mark(place, other, ago_s=20)
    told_by_restart(place)
    *waits, _ = clock.slept
    assert sum(waits) == pytest.approx(160 - 95, abs=3.1)


def test_a_pod_that_is_gone_may_have_had_the_usual_time_of_grace(
    place: Place, clock: Clock
) -> None:
    ended(place, 10)
    first, second = pods_again(place)
    mark(place, first, ago_s=10)
    place.store.patch(PODS, "default", first, {"spec": {"terminationGracePeriodSeconds": 1}})
    place.store.remove(PODS, "default", second)
    told_by_restart(place)
    *waits, _ = clock.slept
    assert sum(waits) == pytest.approx(25, abs=1.1)


def test_a_clock_that_is_ahead_makes_no_wait_longer(place: Place, clock: Clock) -> None:
    """The wait for marks goes by no clock but this machine's, and not by what time it is."""
    ended(place, 480)  # by this machine's clock
    pods = pods_again(place)

    def come_to_it(seconds: float) -> None:
        while pods and seconds > 1:
            # The server does not say when.
            place.store.patch(PODS, "default", pods.pop(), DONE)

    clock.then = come_to_it
    told_by_restart(place)
    *_, waited_s, _ = clock.slept
    assert waited_s == 35.0


def test_an_interrupt_of_the_wait_is_known_to_have_changed_nothing(
    place: Place, clock: Clock
) -> None:
    def interrupt(_seconds: float) -> None:
        raise KeyboardInterrupt

    ended(place, 1)
    before = place.workflow, place.names(PODS)
    clock.then = interrupt
    with pytest.raises(UnbegunInterrupt):
        place.restart()
    assert (place.workflow, place.names(PODS)) == before


def test_an_hour_after_the_run_no_mark_is_waited_for(place: Place, clock: Clock) -> None:
    ended(place, 3700)
    assert pods_again(place)
    assert told_by_restart(place) == []
    assert clock.slept == [HEARS_S]


def test_marks_that_never_come_are_not_waited_for(place: Place, clock: Clock) -> None:
    def change(found: t.Any) -> None:
        for node in found["status"]["nodes"].values():
            node["taskResultSynced"] = False

    ended(place, 100)
    place.store.change(WORKFLOWS, "default", CHAIN, change)
    assert pods_again(place)
    assert told_by_restart(place) == []
    assert clock.slept == [HEARS_S]


def test_marks_that_were_late_long_before_the_end_count_no_more(place: Place, clock: Clock) -> None:
    ended(place, 5)
    again = pods_again(place)
    for pod in again:
        mark(place, pod, ago_s=4)
    other = min(place.names(PODS) - {"of-others", *again})
    mark(place, other, ago_s=1000)

    def change(found: t.Any) -> None:
        for node in found["status"]["nodes"].values():
            if node["type"] == "Pod" and pod_name(CHAIN, node) == other:
                node["finishedAt"] = stamp(1300)

    place.store.change(WORKFLOWS, "default", CHAIN, change)
    told_by_restart(place)
    *waits, _ = clock.slept
    assert sum(waits) == pytest.approx(31, abs=1.1)


def test_what_was_given_up_makes_no_other_wait_longer(place: Place, clock: Clock) -> None:
    ended(place, 1800)
    place.store.remove(PODS, "default", pods_again(place)[0])
    told = told_by_restart(place)
    assert "is not waited for any longer" in told[-1]
    assert 60 < sum(clock.slept) < 75


def test_an_interrupt_after_something_was_changed_is_not_one_before(
    place: Place, clock: Clock
) -> None:
    """In the five seconds after pods are deleted the run ends anew: a conflict, and a new wait."""
    ended(place, 3700)

    def interrupt(_seconds: float) -> None:
        if len(clock.slept) > 1:
            raise KeyboardInterrupt
        ended(place, 1)

    clock.then = interrupt
    with pytest.raises(KeyboardInterrupt) as caught:
        place.restart()
    assert type(caught.value) is KeyboardInterrupt


@pytest.mark.parametrize(
    ("strategy", "is_told"),
    [
        ("OnPodCompletion/2h0m0s", True),
        ("OnWorkflowCompletion/1h0m0.5s", True),
        ("OnPodSuccess/2h0m0s", False),
        ("OnPodCompletion/5s", False),
        ("OnPodCompletion/-1ns", False),
        ("OnWorkflowSuccess/2h0m0s", False),
    ],
)
def test_pods_that_are_deleted_much_later_are_told_at_once(
    place: Place, clock: Clock, strategy: str, is_told: bool
) -> None:
    ended(place, 100)
    for pod in (pods := pods_again(place)):
        place.store.patch(PODS, "default", pod, {"metadata": {"annotations": {GC: strategy}}})
    told = told_by_restart(place)
    deletes = [one for one in told if "podGC.deleteDelayDuration" in one]
    assert len(deletes) == is_told
    if is_told:
        assert deletes[0].startswith(f"argo: its controller deletes the pod {pods[0]} (and 1 more)")
        assert len(clock.slept) == 1, "no mark is to come"


def test_a_run_that_others_restart_meanwhile_keeps_its_new_pods(place: Place, clock: Clock) -> None:
    ended(place, 1)

    def restart(seconds: float) -> None:
        if seconds > 20 and has_ended(place.workflow):
            place.store.change(
                WORKFLOWS,
                "default",
                CHAIN,
                lambda found: found["metadata"]["labels"].pop("workflows.argoproj.io/completed"),
            )

    before = place.names(PODS)
    clock.then = restart
    with pytest.raises(RefusedError, match="has not ended"):
        place.restart()
    assert place.names(PODS) == before


def test_a_run_that_has_gone_on_and_ended_meanwhile_is_waited_for_anew(
    place: Place, clock: Clock
) -> None:
    ended(place, 1)

    def end_anew(seconds: float) -> None:
        if seconds > 20 and len(ends) == 1:
            ends.append(seconds)
            ended(place, -30)

    ends = [0.0]
    clock.then = end_anew
    told = told_by_restart(place)
    assert len([one for one in told if "begins in" in one]) == 2


def test_a_conflict_is_no_reason_to_wait_anew(place: Place, clock: Clock) -> None:
    ended(place, 5)
    [mark(place, pod, ago_s=5) for pod in pods_again(place)]
    place.faults.add(RequestFault("PUT", "/workflows/", code=409, times=1))
    told = told_by_restart(place)
    assert len([one for one in told if "begins in" in one]) == 1
    assert clock.slept.count(HEARS_S) == 1


def test_what_the_run_is_to_be_is_decided_anew_after_the_wait(place: Place, clock: Clock) -> None:
    """So its time limit does not count the wait, and nothing that was seen before it holds."""
    ended(place, 5)
    decided: list[float] = []
    put_back = putting_back(Observer(place.run.workflow), place.workflow, place.wanted)

    def decide(found: t.Any) -> Reset:
        decided.append(clock.monotonic())
        return put_back(found)

    place.api.restart(CHAIN, decide, is_changed=False)
    *waits, _ = clock.slept
    assert decided == [0.0, sum(waits)]
    assert sum(waits) > 30


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


def test_the_controller_hears_that_old_pods_are_gone_before_there_are_new_ones(
    place: Place, clock: Clock
) -> None:
    again = set(pods_again(place))
    seen: list[tuple[float, bool, bool]] = []
    clock.then = lambda seconds: seen.append(
        (seconds, not again & place.names(PODS), has_ended(place.workflow))
    )
    assert not told_by_restart(place)
    assert seen == [(HEARS_S, True, True)]


NOON = datetime(2026, 3, 1, 12, tzinfo=UTC)


@pytest.mark.parametrize(
    ("ends", "whole_s", "expected"),
    [
        ([], 35.0, 0.0),
        ([None], 35.0, 0.0),
        ([100], 35.0, 0.0),
        ([20, None], 35.0, 15.0),
        ([20, 5], 35.0, 30.0),
        ([-3600], 35.0, 35.0),  # a clock that is slow
        ([300], 605.0, 305.0),
    ],
)
def test_what_is_left_of_a_wait(ends: list[int | None], whole_s: float, expected: float) -> None:
    found = [None if one is None else NOON - timedelta(seconds=one) for one in ends]
    assert left_s(found, whole_s, NOON) == expected


@pytest.mark.parametrize(
    ("cleanup", "phases", "expected"),
    [
        ("OnPodCompletion", ("Failed", "Failed"), 30),
        ("OnPodSuccess", ("Failed", "Succeeded"), None),
        ("OnPodSuccess", ("Succeeded", "Failed"), 30),
        ("OnWorkflowCompletion", ("Failed", "Failed"), 60),
        ("OnWorkflowSuccess", ("Succeeded", "Failed"), None),
        ("OnWorkflowSuccess", ("Succeeded", "Succeeded"), 60),
        ("", ("Failed", "Failed"), None),
        ("OnPodNone", ("Failed", "Failed"), None),
    ],
)
def test_when_a_pod_is_deleted(cleanup: str, phases: tuple[str, str], expected: int | None) -> None:
    of_pod, of_run = phases
    pod = OldPod(30.0, False, None, of_pod, cleanup, 20.0)
    workflow = {"status": {"phase": of_run, "finishedAt": "2026-03-01T12:00:40Z"}}
    found = deleted_at(pod, {"finishedAt": "2026-03-01T12:00:10Z"}, workflow)
    assert found == (None if expected is None else NOON + timedelta(seconds=expected))
    assert deleted_at(pod._replace(is_done=True), {}, workflow) is None
    assert deleted_at(pod._replace(delay_s=0.0), {}, workflow) is None


def test_a_mark_long_after_the_end_was_not_the_controllers() -> None:
    pod = OldPod(30.0, True, NOON + timedelta(hours=2), "Failed", "", 0.0)
    ended = {"finishedAt": "2026-03-01T12:00:00Z"}
    assert late_s(pod, ended, {"status": {}}) == 0.0
    of_run = pod._replace(cleanup="OnWorkflowCompletion")
    late = {"status": {"finishedAt": "2026-03-01T13:59:00Z"}}
    assert late_s(of_run, ended, late) == 60.0
