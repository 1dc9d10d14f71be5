"""What a look at a large run costs, counted in calls of functions and in requests."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import TYPE_CHECKING, cast

import pytest

from couler.backends.airflow.instances import RunSteps
from couler.backends.airflow.observing import Asked, Memory
from couler.backends.airflow.task_states import Instance, Task, TaskTable
from couler.backends.remote import RemoteRun
from couler.errors import RefusedError
from couler.ir.walk import StepPath
from couler.ir.workflow import Workflow
from tests.backends.airflow.elsewhere import connected, the_run
from tests.corpus.build import flow, sh
from tests.support.airflow_api import FakeAirflow, Json, task

if TYPE_CHECKING:
    from couler.backends.airflow.rest import RunApi

NOON = datetime(2026, 3, 1, 12, tzinfo=UTC)
POD = "airflow.providers.cncf.kubernetes.utils.pod_manager.PodManager"


def look(workflow: Workflow) -> RunSteps:
    tasks = {(step.name, -1): Task("success") for step in workflow.steps}
    table = TaskTable(tasks, has_failed=False, was_cancelled=False)
    return RunSteps(workflow, table, lambda _: {"result": "x"})


# requests ------------------------------------------------------------------------------------


def failed_run(airflow: FakeAirflow, count: int = 30, failed: int = 5) -> RemoteRun:
    """Have a run of steps that succeeded, but for the first ones."""
    workflow = flow("flow", *(sh(f"s{one}", "echo") for one in range(count)))
    airflow.begin("r1", "failed")
    states = ["failed"] * failed + ["success"] * (count - failed)
    airflow.tasks = [task(f"s{number}", state) for number, state in enumerate(states)]
    airflow.returned = {f"s{number}": {"result": "x"} for number in range(failed, count)}
    airflow.logs = {f"s{one}/1": [said(f"[base] line of s{one}")] for one in range(count)}
    return the_run(workflow=workflow)


def said(event: str, level: str = "info", logger: str = POD) -> Json:
    return {"event": event, "level": level, "logger": logger, "timestamp": "t"}


def asked(airflow: FakeAirflow) -> Mapping[str, int]:
    """Return how often what was asked for, and begin to count anew."""
    kinds = ("/xcomEntries", "/logs/", "/tries", "/taskInstances?", "/dagRuns/r1")
    counts = Counter(
        next(kind for kind in kinds if kind in f"{path}{'' if '?' in path else '?'}")
        for _, path, _ in airflow.asked
    )
    airflow.asked.clear()
    return counts


def test_logs_of_a_run_that_is_over_read_its_tasks_once_and_no_outputs(
    airflow: FakeAirflow,
) -> None:
    run = failed_run(airflow)
    remote = connected(airflow)
    for number in range(5):
        lines = list(remote.logs(run, StepPath.parse(f"s{number}")))
        assert lines == [f"line of s{number}"]
    counts = asked(airflow)
    assert (counts["/logs/"], counts["/taskInstances?"], counts["/xcomEntries"]) == (5, 1, 0)
    assert counts["/dagRuns/r1"] <= 5


def test_logs_of_a_run_under_way_share_a_look(airflow: FakeAirflow) -> None:
    run = failed_run(airflow)
    airflow.runs["r1"]["state"] = "running"
    remote = connected(airflow, poll_s=600.0)
    for number in range(5):
        list(remote.logs(run, StepPath.parse(f"s{number}")))
    counts = asked(airflow)
    assert (counts["/taskInstances?"], counts["/dagRuns/r1"]) == (1, 1)


def test_a_step_is_resumed_without_outputs_read(airflow: FakeAirflow) -> None:
    run = failed_run(airflow)
    with pytest.raises(RefusedError, match="does not wait for a person"):
        connected(airflow).resume(run, StepPath.parse("s0"))
    assert asked(airflow)["/xcomEntries"] == 0


# logs of what failed -------------------------------------------------------------------------


class Watched:
    """A run whose first steps have failed, and what it was asked."""

    dag_id, dag_run_id = "flow", "r1"

    def __init__(self, failed: int) -> None:
        self.state = "running"
        self.note: str | None = None
        self.entries: list[Json] = []
        self.reads = 0
        states = ["failed"] * failed + ["running"]
        self._tasks = {
            (f"s{number}", -1): Task(state, finished=NOON) for number, state in enumerate(states)
        }
        self._workflow = flow("flow", *(sh(f"s{one}", "true") for one in range(failed + 1)))
        self._memory = Memory()

    def get(self) -> Json:
        return {"state": self.state, "note": self.note}

    def tasks(self) -> Mapping[Instance, Task]:
        return self._tasks

    def log(self, _instance: Instance, _attempt: int) -> list[Json]:
        self.reads += 1
        return self.entries

    def message(self) -> str | None:
        """Look at the run, and return what the log of the first step's try tells."""
        seen = Asked(cast("RunApi", self), self._workflow, self._memory).observation()
        [first] = [one for one in seen.steps if str(one.path) == "s0"]
        return first.attempts[-1].message


def test_the_log_of_what_was_cut_off_is_not_read() -> None:
    run = Watched(3)
    run.state = "failed"
    when = "2026-03-01T12:00:00+00:00"
    run.note = f"Cancelled by couler at {when}."
    assert run.message() == "the run was cancelled"
    assert run.reads == 0
