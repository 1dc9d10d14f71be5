"""Jobs whose cluster does not answer for a while: no second one, and no failure."""

from __future__ import annotations

import contextlib
import threading
import typing as t
from collections.abc import Iterator

import pytest

from couler.backends.airflow import AirflowBackend
from couler.backends.base import Target
from couler.ir.defaults import resolve_defaults
from couler.ir.policies import Retry
from couler.ir.workflow import Job, Step, Workflow
from tests.fakes.kubernetes.cluster import FakeCluster
from tests.fakes.kubernetes.faults import RequestFault
from tests.fakes.kubernetes.store import JOBS
from tests.support.airflow_runs import AirflowRun, Worker

pytestmark = [pytest.mark.airflow, pytest.mark.slow, pytest.mark.timeout(240)]


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
    )
    step = Step(name="train", action=action, **fields)
    return Workflow(name="faulty", steps=(step,))


def run(airflow: Worker, cluster: FakeCluster, workflow: Workflow) -> AirflowRun:
    text = AirflowBackend().compile(resolve_defaults(workflow), Target()).to_text()
    text = text.replace("poke_interval=30", "poke_interval=1")
    return airflow.run(text, workflow.name, cluster=cluster, limit_s=120.0)


@contextlib.contextmanager
def once_made(cluster: FakeCluster, fault: RequestFault) -> Iterator[None]:
    """Let a fault begin when the first job is there."""
    over = threading.Event()

    def watch() -> None:
        while not over.wait(0.05):
            if cluster.objects(JOBS):
                cluster.faults.add(fault)
                return

    thread = threading.Thread(target=watch)
    thread.start()
    try:
        yield
    finally:
        over.set()
        thread.join()


@pytest.mark.parametrize(("path", "code"), [("/apis/batch/v1$", 429), ("/jobs", 503)])
def test_a_look_that_is_not_answered_is_repeated(
    airflow: Worker, cluster: FakeCluster, path: str, code: int
) -> None:
    cluster.faults.add(RequestFault("GET", path, code=code, times=2))
    ended = run(airflow, cluster, job("sleep 2", {"generateName": "t-"}, retry=Retry(limit=1)))
    assert ended.state == "success", ended.log
    assert ended.tries["train", -1] == 1
    assert len(cluster.objects(JOBS)) == 1


def test_looks_that_are_not_answered_end_with_the_limit(
    airflow: Worker, cluster: FakeCluster
) -> None:
    with once_made(cluster, RequestFault("GET", "/jobs", code=503)):
        ended = run(airflow, cluster, job("sleep 60", {"generateName": "t-"}, timeout_s=3))
    assert ended.state == "failed"
    assert "did not end within 3 s" in ended.logs["train", -1]


def test_a_create_that_is_not_answered_is_repeated(airflow: Worker, cluster: FakeCluster) -> None:
    cluster.faults.add(RequestFault("POST", "/jobs", code=503, times=1))
    ended = run(airflow, cluster, job("true", {"generateName": "t-"}))
    assert ended.state == "success", ended.log
    [made] = cluster.objects(JOBS)
    assert made["metadata"]["name"].startswith("t-")


def test_what_an_attempt_left_is_replaced(airflow: Worker, cluster: FakeCluster) -> None:
    """A look of the first attempt is refused, so that it fails while its resource goes on."""
    workflow = job("sleep 4", {"generateName": "t-"}, retry=Retry(limit=1))
    with once_made(cluster, RequestFault("GET", "/jobs", code=403, times=1)):
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
