"""What is waited for before a run on Argo is restarted, by the marks of Argo's controller."""

from __future__ import annotations

import json
import typing as t
import urllib.request
from datetime import UTC, datetime, timedelta

import pytest

from couler.backends.argo.cluster_restart import HEARS_S
from couler.backends.argo.observe import Observer
from couler.backends.argo.remote import putting_back
from couler.backends.argo.reset import Reset, has_ended, pod_name
from couler.backends.argo.workflow_api import COMPLETED_LABEL
from couler.backends.remote import UnbegunInterrupt
from couler.errors import RefusedError
from couler.rest import listening
from tests.backends.argo.cluster_restart.conftest import Clock, Place
from tests.fakes.kubernetes.store import PODS, WORKFLOWS
from tests.support.argo_recordings import CHAIN

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
    assert sum(waits) == pytest.approx(25, abs=2.5)  # of a busy machine


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
    assert sum(waits) == pytest.approx(31, abs=2.5)  # of a busy machine


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
