"""Values and policies of compiled files under real Airflow: what the corpus does not ask."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from couler.backends.airflow import AirflowBackend
from couler.backends.base import Target
from couler.ir.base import FrozenDict
from couler.ir.pods import StepPod
from couler.ir.policies import Backoff, Mutex, Retry
from couler.ir.workflow import Parameter, Workflow
from tests.corpus.build import flow, or_else, param, part, ref, sh, words
from tests.fakes.kubernetes.cluster import FakeCluster
from tests.support.airflow_runs import LIMIT_S, AirflowError, AirflowRun, Worker

pytestmark = [pytest.mark.airflow, pytest.mark.timeout(1800), pytest.mark.sampled(2)]

Run = Callable[..., AirflowRun]


@pytest.fixture
def run(airflow: Worker, cluster: FakeCluster) -> Run:
    """Compile a workflow and run it."""

    def run(workflow: Workflow, conf: dict[str, Any] | None = None) -> AirflowRun:
        text = AirflowBackend().compile(workflow, Target()).to_text()
        return airflow.run(text, workflow.name, cluster=cluster, conf=conf)

    return run


def test_wrong_parameters_are_refused(run: Run) -> None:
    workflow = flow(
        "wrong",
        sh("show", 'echo "$1"', param("n")),
        parameters=[
            Parameter(name="n", type="int", required=True),
            Parameter(name="x", type="float", default=0.5),
            Parameter(name="flag", type="bool", default=False),
            Parameter(name="names", type="list", default=("a",)),
            Parameter(name="size", default="s", choices=("s", "m")),
            Parameter(name="level", type="int", default=1, choices=(1, 2)),
        ],
    )
    wrong: list[tuple[dict[str, Any], str]] = [
        ({}, "Invalid input for param n"),
        ({"n": "many"}, "Invalid input for param n"),
        ({"n": True}, "Invalid input for param n"),
        ({"n": 1.5}, "Invalid input for param n"),
        ({"n": 2.0}, "Invalid input for param n"),
        ({"n": 1, "x": "nan"}, "Invalid input for param x"),
        ({"n": 1, "flag": "yes"}, "Invalid input for param flag"),
        ({"n": 1, "names": "a"}, "Invalid input for param names"),
        ({"n": 1, "size": "xl"}, "Invalid input for param size"),
        ({"n": 1, "level": 2.0}, "Invalid input for param level"),
    ]
    for conf, message in wrong:
        with pytest.raises(AirflowError, match=message):
            run(workflow, conf)
    found = run(workflow, {"n": "-7", "x": "1e3", "flag": "true", "level": 2})
    assert found.xcoms["show", -1] == {"result": "-7"}


LINE = "import sys; sys.stdout.reconfigure(encoding='utf-8'); print('\\U0001f600ä' * 10_000)"


def test_large_values_of_any_alphabet_and_what_cannot_be_read(run: Run) -> None:
    shown = "import sys; print(sys.argv[1] == '\\U0001f600ä' * 10_000)"
    workflow = flow(
        "large",
        words("makes", "python", "-c", LINE),
        words("takes", "python", "-c", shown, ref("makes")),
        sh("tree", "echo '{\"a\": [1]}'", result="dict"),
        # It has no attempt, so it is not tried again.
        sh("misses", 'echo "$1"', part(ref("tree"), "a", 1), retry=Retry(limit=3)),
        sh("has", 'echo "$1"', or_else(part(ref("tree"), "a", 0), 2)),
    )
    found = run(workflow)
    assert found.xcoms["takes", -1] == {"result": "True"}, found.log
    assert found.states["misses", -1] == "failed"
    assert found.tries["misses", -1] == 1
    assert "there is no 1 in [1]" in found.logs["misses", -1]
    assert found.pods_of("misses") == []
    assert found.xcoms["has", -1] == {"result": "1"}


def test_policies_are_those_of_airflow(run: Run, airflow: Worker) -> None:
    workflow = flow(
        "policies",
        sh("late", "true", timeout_s=1),
        sh(
            "patient",
            "exit 75",
            retry=Retry(
                limit=2,
                exit_codes=(1, 2),
                backoff=Backoff(seconds=0.5, factor=1.5, cap_s=90),
            ),
            locks=[Mutex(name="disk")],
        ),
        sh("waits", "true"),
        max_parallel=3,
        timeout_s=3600,
    )
    text = AirflowBackend().compile(workflow, Target()).to_text()
    loaded = airflow.load(text)
    assert loaded.errors == {}
    assert loaded.round_trip
    dag = loaded.serialized["policies"]["dag"]
    assert dag["max_active_tasks"] == 3
    assert dag["dagrun_timeout"] == 3600.0
    tasks = {task["__var"]["task_id"]: task["__var"] for task in dag["tasks"]}
    patient = tasks["patient"]
    assert patient["retries"] == 2
    assert patient["retry_delay"] == 0.5
    assert patient["retry_exponential_backoff"] == 1.5
    assert patient["max_retry_delay"] == 90.0
    assert patient["pool"] == "disk"
    assert tasks["late"]["execution_timeout"] == 1.0
    found = run(workflow)
    assert found.states["patient", -1] == "failed"
    assert found.tries["patient", -1] == 1
    notes = AirflowBackend().compile(workflow, Target()).notes
    assert notes == ('pool "disk" with one slot must exist in Airflow, or its tasks never start',)


def test_a_time_limit_ends_the_pod(airflow: Worker, tmp_path: Path) -> None:
    """The time is over as soon as the pod is ready, whenever that is."""
    script = "trap 'echo asked to end; exit 0' TERM; echo ready; sleep 600 & wait"
    patient = StepPod(spec_patch=FrozenDict(terminationGracePeriodSeconds=600))
    workflow = flow("late", sh("late", script, timeout_s=3600, pod=patient))
    text = AirflowBackend().compile(workflow, Target()).to_text()
    over = threading.Event()
    with FakeCluster(tmp_path / "cluster", grace_s=600) as cluster:

        def said() -> list[str]:
            begun = [one for pod in cluster.pods() for one in pod.containers]
            return [one.stdout for one in begun if one.name == "base"]

        def alarm() -> None:
            while said() != ["ready\n"] and not over.wait(0.05):
                pass
            airflow.end_time()

        ending = threading.Thread(target=alarm)
        ending.start()
        found = airflow.run(text, workflow.name, cluster=cluster)
        over.set()
        ending.join()
        assert found.states == {("late", -1): "failed"}, found.log
        assert "AirflowTaskTimeout" in found.logs["late", -1]
        # The API forgets a pod before its containers have ended.
        limit = time.monotonic() + LIMIT_S
        while any(pod.container("base").exit_code is None for pod in cluster.pods()):
            assert time.monotonic() < limit, "containers outlive their time limit"
            time.sleep(0.05)
        assert said() == ["ready\nasked to end\n"]
