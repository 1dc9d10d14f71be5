"""Jobs whose cluster does not answer for a while: no second one, and no failure."""

from __future__ import annotations

import contextlib
import typing as t
import unittest.mock
from collections.abc import Callable
from pathlib import Path

import pytest

from couler.backends.airflow import AirflowBackend
from couler.backends.base import Target
from couler.ir.defaults import resolve_defaults
from couler.ir.policies import Retry
from couler.ir.values import thawed
from couler.ir.workflow import Job, Step, Workflow
from tests.fakes.kubernetes.cluster import FakeCluster
from tests.fakes.kubernetes.faults import RequestFault
from tests.fakes.kubernetes.store import CONFIG_MAPS, JOBS, Json, Resource
from tests.support.airflow_runs import AirflowRun, Worker

pytestmark = [pytest.mark.airflow, pytest.mark.timeout(1800), pytest.mark.sampled(3)]

Then = Callable[[], object]


def job(script: str, metadata: dict[str, t.Any], **fields: t.Any) -> Workflow:
    """Return a workflow of one step, a job of one pod."""
    container = {"name": "main", "image": "any", "command": ["sh", "-c", script]}
    manifest = {
        "apiVersion": "batch/v1",
        "kind": "Job",
        "metadata": metadata,
        "spec": {
            "backoffLimit": 0,
            "template": {"spec": {"restartPolicy": "Never", "containers": [container]}},
        },
    }
    action = Job(
        manifest=manifest,
        success_condition="status.succeeded > 0",
        failure_condition="status.failed > 0",
        set_owner_reference=fields.pop("set_owner_reference", False),
    )
    step = Step(name="train", action=action, **fields)
    return Workflow(name="faulty", steps=(step,))


def replacement(cluster: FakeCluster) -> Workflow:
    """Return a workflow that replaces a config map, which is there."""
    mark = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "mark"}}
    cluster.create(CONFIG_MAPS, {**mark, "data": {"n": "1"}})
    action = Job(manifest={**mark, "data": {"n": "2"}}, action="replace")
    return Workflow(name="faulty", steps=(Step(name="mark", action=action),))


def run(
    airflow: Worker, cluster: FakeCluster, workflow: Workflow, *, answer_s: int = 90
) -> AirflowRun:
    text = AirflowBackend().compile(resolve_defaults(workflow), Target()).to_text()
    text = text.replace("poke_interval=30", "poke_interval=1")
    assert "_request_timeout=90" in text
    text = text.replace("_request_timeout=90", f"_request_timeout={answer_s}")
    return airflow.run(text, workflow.name, cluster=cluster)


def on(
    cluster: FakeCluster, change: t.Literal["create", "update"], resource: Resource, *then: Then
) -> contextlib.AbstractContextManager[object]:
    """Do something as soon as objects of a kind are created or changed, before that is answered.

    Of several things each is done at one change, in order.
    """
    original, left = getattr(cluster.store, change), list(then)

    def changed(kind: Resource, *args: t.Any, **options: t.Any) -> Json:
        found: Json = original(kind, *args, **options)
        if kind == resource and left:
            left.pop(0)()
        return found

    return unittest.mock.patch.object(cluster.store, change, changed)


def once_made(
    cluster: FakeCluster, fault: RequestFault, *then: Then
) -> contextlib.AbstractContextManager[object]:
    """Let a fault begin when the first job is there."""
    return on(cluster, "create", JOBS, lambda: cluster.faults.add(fault), *then)


@pytest.mark.parametrize(
    "fault",
    [
        RequestFault("GET", "/apis/batch/v1$", code=429, times=2),
        RequestFault("GET", "/jobs", code=503, times=2),
        RequestFault("GET", "/jobs", cut="before", times=6),  # the client asks four times itself
        RequestFault("GET", "/jobs", cut="within", times=2),
        RequestFault("GET", "/jobs", cut="never", times=6),
    ],
    ids=lambda one: f"{one.path} {one.cut or one.code}",
)
def test_a_look_that_is_not_answered_is_repeated(
    airflow: Worker, cluster: FakeCluster, fault: RequestFault
) -> None:
    cluster.faults.add(fault)
    workflow = job("sleep 2", {"generateName": "t-"}, retry=Retry(limit=1))
    ended = run(airflow, cluster, workflow, answer_s=1 if fault.cut == "never" else 90)
    assert ended.state == "success", ended.log
    assert ended.tries["train", -1] == 1
    assert len(cluster.objects(JOBS)) == 1


def test_looks_that_are_not_answered_end_with_the_limit(
    airflow: Worker, cluster: FakeCluster
) -> None:
    with once_made(cluster, RequestFault("GET", "/jobs", code=503)):
        ended = run(airflow, cluster, job("sleep 600", {"generateName": "t-"}, timeout_s=3))
    assert ended.state == "failed"
    assert "did not end within 3 s" in ended.logs["train", -1]


@pytest.mark.parametrize("cut", [None, "before", "after", "within"])
def test_a_create_that_is_not_answered_is_repeated(
    airflow: Worker, cluster: FakeCluster, cut: t.Literal["before", "after", "within"] | None
) -> None:
    """Where the answer alone was lost, what was created is found."""
    cluster.faults.add(RequestFault("POST", "/jobs", code=500, times=1, cut=cut))
    ended = run(airflow, cluster, job("true", {"generateName": "t-"}))
    assert ended.state == "success", ended.log
    assert ended.tries["train", -1] == 1
    [made] = cluster.objects(JOBS)
    assert made["metadata"]["name"].startswith("t-")
    assert len(ended.pods) == 1


def test_a_conflict_with_nothing_is_repeated(airflow: Worker, cluster: FakeCluster) -> None:
    """As a quota that changes gives one."""
    cluster.faults.add(RequestFault("POST", "/jobs", code=409, times=1))
    ended = run(airflow, cluster, job("true", {"name": "fixed"}))
    assert ended.state == "success", ended.log
    assert len(cluster.objects(JOBS)) == 1


def test_what_is_of_others_is_left_alone(airflow: Worker, cluster: FakeCluster) -> None:
    workflow = job("true", {"name": "fixed"}, retry=Retry(limit=1), set_owner_reference=True)
    action = workflow.steps[0].action
    assert isinstance(action, Job)
    metadata = {"name": "fixed", "labels": {"of": "others"}}
    cluster.create(JOBS, {**thawed(action.manifest), "metadata": metadata, "status": {}})
    ended = run(airflow, cluster, workflow)
    assert ended.state == "failed"
    assert "there is a Job fixed already that is not of this task" in ended.logs["train", -1]
    assert ended.states["remove-resources", -1] == "success"
    [left] = cluster.objects(JOBS)
    assert left["metadata"]["labels"] == {"of": "others"}


def test_what_a_run_leaves_is_deleted_when_the_cluster_answers(
    airflow: Worker, cluster: FakeCluster
) -> None:
    cluster.faults.add(RequestFault("DELETE", "/jobs", code=500, times=1))
    ended = run(airflow, cluster, job("true", {"generateName": "t-"}, set_owner_reference=True))
    assert ended.state == "success", ended.log
    assert ended.states["remove-resources", -1] == "success"
    assert cluster.objects(JOBS) == []


@pytest.mark.parametrize(
    "fault",
    [
        RequestFault("PUT", "/configmaps/", code=409, times=1),
        RequestFault("PUT", "/configmaps/", cut="after", times=1),
    ],
    ids=["conflict", "no answer"],
)
def test_a_change_that_is_refused_is_repeated(
    airflow: Worker, cluster: FakeCluster, fault: RequestFault
) -> None:
    cluster.faults.add(fault)
    ended = run(airflow, cluster, replacement(cluster))
    assert ended.state == "success", ended.log
    [found] = cluster.objects(CONFIG_MAPS)
    assert found["data"] == {"n": "2"}


def test_a_change_is_made_once_where_no_look_at_it_is_answered(
    airflow: Worker, cluster: FakeCluster
) -> None:
    workflow = replacement(cluster)
    refused = RequestFault("GET", "/configmaps/", code=503, times=2)
    with on(cluster, "update", CONFIG_MAPS, lambda: cluster.faults.add(refused)):
        ended = run(airflow, cluster, workflow)
    assert ended.state == "success", ended.log
    assert ended.tries["mark", -1] == 1


def test_what_an_attempt_left_is_replaced(
    airflow: Worker, cluster: FakeCluster, tmp_path: Path
) -> None:
    """A look of the first attempt is refused, so that it fails while its resource goes on."""
    second = tmp_path / "shared" / "second"
    script = f"until test -e {second}; do sleep 0.1; done"
    workflow = job(script, {"generateName": "t-"}, retry=Retry(limit=1))
    with once_made(cluster, RequestFault("GET", "/jobs", code=403, times=1), second.touch):
        ended = run(airflow, cluster, workflow)
    assert ended.state == "success", ended.log
    assert ended.tries["train", -1] == 2
    [made] = cluster.objects(JOBS)
    assert made["metadata"]["labels"]["try_number"] == "2"


def test_a_name_of_its_own_is_taken_again(airflow: Worker, cluster: FakeCluster) -> None:
    ended = run(airflow, cluster, job("exit 1", {"name": "fixed"}, retry=Retry(limit=1)))
    assert ended.state == "failed"
    assert ended.tries["train", -1] == 2
    assert "has failed" in ended.logs["train", -1]
    [made] = cluster.objects(JOBS)
    assert made["metadata"]["labels"]["try_number"] == "2"
