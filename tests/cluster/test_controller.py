"""What a controller does about objects that others changed, and plans that it cannot read."""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from couler.backends.argo import ArgoBackend
from couler.backends.base import Target
from couler.backends.remote import Connection
from couler.cluster.controller import Controller, PlannedJob, PlanStore, TrainingPlan
from couler.cluster.objects import ClusterObjects, Json, node_of
from couler.errors import EngineError
from tests.fakes.kubernetes.faults import Faults, RequestFault
from tests.fakes.kubernetes.server import Server, kubeconfig
from tests.fakes.kubernetes.store import CONFIG_MAPS, Resource, Store

JOBS = Resource("kubeflow.org", "v1", "pytorchjobs")
POD = {"spec": {"containers": [{"name": "pytorch", "image": "any"}]}}
MANIFEST = {
    "apiVersion": "kubeflow.org/v1",
    "kind": "PyTorchJob",
    "metadata": {"generateName": "x-"},
    "spec": {"pytorchReplicaSpecs": {"Worker": {"replicas": 1, "template": POD}}},
}


class Place:
    """An API server, and what a plan does there."""

    def __init__(self, folder: Path) -> None:
        self.store, self.faults = Store(), Faults()
        self.server = Server(self.store, faults=self.faults, kinds=[JOBS])
        self.kubeconfig = folder / "kubeconfig"
        self.told: list[str] = []

    @property
    def api(self) -> ClusterObjects:
        self.kubeconfig.write_text(kubeconfig(self.server.address))
        fields = {"kubeconfig": str(self.kubeconfig)}
        return ArgoBackend().objects(Connection("argo", Target(), fields), {})

    def controller(self, *jobs: PlannedJob) -> Controller:
        plan = TrainingPlan("p", "specon", time.time(), 60.0, list(jobs))
        store = PlanStore(self.api, "p")
        return Controller(self.api, store, plan, interval_s=0.1, report=self.told.append)

    def job(self, name: str = "x") -> Json:
        return self.store.get(JOBS, "default", name)


@pytest.fixture
def place(tmp_path: Path) -> Iterator[Place]:
    found = Place(tmp_path)
    with found.server:
        yield found


def movable() -> PlannedJob:
    return PlannedJob("x", MANIFEST, node="a", hosts={"a": "host-a", "b": "host-b"})


def test_a_job_is_created_and_moved(place: Place) -> None:
    controller = place.controller(movable())
    controller.reconcile()
    assert node_of(place.job()) == "host-a"
    controller.move(controller.plan.jobs[0], "b")
    controller.reconcile()
    controller.reconcile()
    assert node_of(place.job()) == "host-b"
    assert place.told == ["created x on a", "moved x to b"]


def test_a_move_goes_on_after_a_crash_between_deletion_and_creation(place: Place) -> None:
    controller = place.controller(movable())
    controller.reconcile()
    controller.move(controller.plan.jobs[0], "b")
    place.store.delete(JOBS, "default", "x")
    store = PlanStore(place.api, "p")
    plan = store.load()
    assert plan is not None
    Controller(place.api, store, plan, interval_s=0.1, report=place.told.append).reconcile()
    assert node_of(place.job()) == "host-b"


def test_a_job_that_fails_as_it_is_stopped_to_be_moved_is_not_over(place: Place) -> None:
    controller = place.controller(movable())
    controller.reconcile()
    job = controller.plan.jobs[0]
    controller.move(job, "b")

    failed = {"conditions": [{"type": "Failed", "status": "True"}]}

    def waits_for_its_pods(found: Json) -> None:
        found["metadata"]["finalizers"] = ["foregroundDeletion"]

    def is_gone(found: Json) -> None:
        found["metadata"]["finalizers"] = []

    place.store.change(JOBS, "default", "x", waits_for_its_pods)
    controller.reconcile()  # deletes it
    place.store.change(JOBS, "default", "x", lambda found: found.update(status=failed))
    controller.reconcile()
    assert job.state == "moving"
    place.store.change(JOBS, "default", "x", is_gone)
    controller.reconcile()
    assert (job.state, node_of(place.job())) == ("running", "host-b")


def test_a_job_that_ended_before_it_could_move_has_ended(place: Place) -> None:
    controller = place.controller(movable())
    controller.reconcile()
    done = {"conditions": [{"type": "Succeeded", "status": "True"}]}
    place.store.change(JOBS, "default", "x", lambda found: found.update(status=done))
    controller.move(controller.plan.jobs[0], "b")
    controller.reconcile()
    assert place.told == ["created x on a", "x has succeeded"]


def test_an_object_that_somebody_put_in_the_place_of_a_job_is_not_changed(place: Place) -> None:
    controller = place.controller(movable())
    controller.reconcile()
    place.store.delete(JOBS, "default", "x")
    place.store.create(JOBS, "default", {**MANIFEST, "metadata": {"name": "x"}})
    controller.move(controller.plan.jobs[0], "b")
    with pytest.raises(EngineError, match="it is not of the plan p"):
        controller.reconcile()
    assert node_of(place.job()) is None


def test_a_job_that_the_server_refuses_fails_alone(place: Place) -> None:
    wrong = PlannedJob("Not A Name", MANIFEST, node="a", hosts={"a": "host-a"})
    controller = place.controller(wrong, movable())
    place.faults.add(RequestFault("POST", "/pytorchjobs", code=422, times=1))
    controller.reconcile()
    assert [job.state for job in controller.plan.jobs] == ["failed", "running"]
    assert "Not A Name cannot be created" in place.told[0]


def test_a_lost_answer_is_not_another_process(place: Place) -> None:
    store = PlanStore(place.api, "p")
    plan = TrainingPlan("p", "specon", 0.0, 60.0, [])
    store.save(plan)
    plan.slot_s = 30.0
    place.faults.add(RequestFault("PUT", "/configmaps", cut="after", times=1))
    store.save(plan)
    assert PlanStore(place.api, "p").load() == plan
    plan.slot_s = 20.0
    other = PlanStore(place.api, "p")
    other.save(plan)
    plan.slot_s = 10.0
    with pytest.raises(EngineError, match="another process has changed the ConfigMap"):
        store.save(plan)


@pytest.mark.parametrize("data", [None, {}, {"plan": "{"}, {"plan": "[]"}, {"plan": '{"a": 1}'}])
def test_a_config_map_that_is_no_plan(place: Place, data: Json) -> None:
    found = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "couler-plan-p"}}
    place.store.create(CONFIG_MAPS, "default", {**found, "data": data})
    with pytest.raises(EngineError, match="the stored plan cannot be read"):
        PlanStore(place.api, "p").load()
