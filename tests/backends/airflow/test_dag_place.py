"""DAG files are put in place only for what is not refused, and no run sets a schedule going."""

from __future__ import annotations

from dataclasses import replace

import pytest

from couler.backends.remote import RemoteRun, Restart, Submission
from couler.errors import RefusedError
from couler.ir.workflow import Schedule, Workflow
from couler.rest import listening
from tests.backends.airflow.elsewhere import (
    EXITS,
    FLOW,
    artifact,
    connected,
    the_run,
)
from tests.corpus.build import parameter, sh
from tests.rest.faulty_server import says
from tests.support.airflow_api import FakeAirflow, Fault, task

NIGHTLY = FLOW.model_copy(update={"schedule": Schedule(cron=("0 3 * * *",), suspended=True)})
CHANGED = FLOW.model_copy(
    update={"steps": (*FLOW.steps[:1], sh("b", "echo mended", depends_on=["a"]))}
)
TEXT = artifact().to_text()


def put(airflow: FakeAirflow, workflow: Workflow) -> str:
    """Have a DAG in place."""
    text = artifact(workflow).to_text()
    (airflow.folder / "flow.py").write_text(text)
    return text


def in_place(airflow: FakeAirflow) -> str:
    [file] = airflow.folder.iterdir()
    return file.read_text()


def submission(workflow: Workflow) -> Submission:
    return Submission("r1", workflow, artifact(workflow))


# runs of workflows with a schedule -----------------------------------------------------------


def test_a_schedule_may_have_defaults_of_its_own(airflow: FakeAirflow) -> None:
    put(airflow, NIGHTLY.model_copy(update={"parameters": (parameter("n", 7, "int"),)}))
    airflow.is_paused = False
    connected(airflow).submit(submission(NIGHTLY))
    assert airflow.runs["r1"]["conf"] == {"n": 1}  # as the program has it
    others = ((parameter("n", 7, "float"),), (parameter("n", 7, "int"), parameter("m", "")))
    for number, one in enumerate(others):
        put(airflow, NIGHTLY.model_copy(update={"parameters": one}))
        with pytest.raises(RefusedError, match="flow has a schedule"):
            connected(airflow).submit(replace(submission(NIGHTLY), run_id=f"r{number + 2}"))


@pytest.mark.parametrize("may_see", [True, False], ids=["text", "no text"])
def test_a_schedule_that_is_paused_is_not_set_going(airflow: FakeAirflow, may_see: bool) -> None:
    text = put(airflow, NIGHTLY)
    if not may_see:
        airflow.faults = [Fault("GET", "/dagSources", says(403, {"detail": "no"}), times=9)]
    told = "schedule of flow is paused.*`couler schedule resume flow`"
    with pytest.raises(RefusedError, match=told):
        connected(airflow).submit(submission(NIGHTLY))
    assert (airflow.is_paused, airflow.runs, in_place(airflow)) == (True, {}, text)


@pytest.mark.parametrize("is_paused", [True, False])
@pytest.mark.parametrize("now", [FLOW, CHANGED], ids=["without", "changed"])
def test_a_run_takes_no_schedule_away(airflow: FakeAirflow, now: Workflow, is_paused: bool) -> None:
    text = put(airflow, NIGHTLY)
    airflow.is_paused = is_paused
    with pytest.raises(RefusedError, match=r"flow has a schedule.*`couler schedule put`"):
        connected(airflow).submit(submission(now))
    assert (airflow.is_paused, airflow.runs, in_place(airflow)) == (is_paused, {}, text)


@pytest.mark.parametrize("may_see", [True, False], ids=["text", "no text"])
def test_a_schedule_is_in_place_once_the_dag_has_it(airflow: FakeAirflow, may_see: bool) -> None:
    """Airflow tells the new text while the DAG that was parsed is still the former one."""
    put(airflow, FLOW)
    if not may_see:
        airflow.faults = [Fault("GET", "/dagSources", says(403, {"detail": "no"}), times=99)]
    remote = connected(airflow)
    assert remote.find_schedule("flow") is None
    airflow.lag = 5
    remote.schedule(NIGHTLY, artifact(NIGHTLY))
    found = remote.find_schedule("flow")
    assert found is not None
    remote.unpause(found.place)
    remote.submit(submission(NIGHTLY))
    assert in_place(airflow) == artifact(NIGHTLY).to_text()
    assert airflow.lag == 0


def test_a_schedule_whose_file_is_read_late_stays(airflow: FakeAirflow) -> None:
    """Airflow takes its DAG for one that was removed, until it has read the file."""
    text = put(airflow, NIGHTLY)
    airflow.is_paused, airflow.stale = False, 5
    connected(airflow).submit(submission(NIGHTLY))
    assert in_place(airflow) == text
    begun = next(n for n, (how, _, _) in enumerate(airflow.asked) if how == "POST")
    looks = [path for _, path, _ in airflow.asked[:begun] if path.endswith("/dags/flow")]
    assert len(looks) > 4  # nothing is begun before Airflow has read the file again


# restarts ------------------------------------------------------------------------------------


def failed(airflow: FakeAirflow) -> None:
    airflow.begin("r1", "failed")
    airflow.tasks = [
        task("a", "success"),
        task("b", "failed"),
        *(task(one, "success") for one in EXITS[:2]),
        task("run-status", "failed"),
    ]
    airflow.edges = {
        "a": ["b"],
        "b": list(EXITS),
        "exit-tell.when": ["exit-tell.mail"],
        "exit-tell.mail": ["run-status"],
        "run-status": [],
    }


def again(workflow: Workflow, *paths: str) -> Restart:
    return Restart(workflow, artifact(workflow), {}, frozenset(paths or ("b",)))


def run_of(workflow: Workflow = FLOW) -> RemoteRun:
    return the_run(workflow=workflow)


def test_a_refused_restart_has_changed_nothing(airflow: FakeAirflow) -> None:
    failed(airflow)
    put(airflow, FLOW)
    remote = connected(airflow)
    for also, paths, told in (
        ([task("a", "success")], ("b",), "would run other tasks again"),
        ([], ("no-such",), "nothing of the run r1 is to run again"),
    ):
        airflow.also_cleared = also
        with pytest.raises(RefusedError, match=told):
            remote.restart(run_of(), again(CHANGED, *paths))
        assert (in_place(airflow), airflow.is_paused) == (TEXT, True)
        assert airflow.tasks[1]["state"] == "failed"


def test_a_file_that_cannot_be_imported_does_not_stay(airflow: FakeAirflow) -> None:
    failed(airflow)
    put(airflow, FLOW)
    assert airflow._source() == TEXT
    airflow.is_read = False
    known = says(200, {"import_errors": [], "total_entries": 0})
    airflow.faults = [Fault("GET", "/importErrors", known)]
    airflow.import_errors = [
        {"import_error_id": 2, "timestamp": "t", "filename": "flow.py", "stack_trace": "E: bad"}
    ]
    with pytest.raises(RefusedError, match=r"cannot import flow\.py"):
        connected(airflow).restart(run_of(), again(CHANGED))
    assert in_place(airflow) == TEXT


def test_the_file_that_other_runs_need_stays(airflow: FakeAirflow) -> None:
    failed(airflow)
    text = put(airflow, CHANGED)
    airflow.begin("r2", "running")
    told = r"r1 needs another file of the DAG flow.*under way with that: r2\. Wait"
    with pytest.raises(RefusedError, match=told):
        connected(airflow).restart(run_of(), again(FLOW))
    assert in_place(airflow) == text
    connected(airflow).restart(run_of(), again(CHANGED))  # by which they go on
    assert airflow.runs["r1"]["state"] == "queued"


def test_runs_of_another_file_keep_it(airflow: FakeAirflow) -> None:
    text = put(airflow, FLOW)
    airflow.begin("r7", "running")
    airflow.begin("r8", "queued")
    airflow.begin("r9", "success")
    told = r"runs of another DAG file of flow are under way.*: r7, r8\. Wait until .*couler cancel"
    with pytest.raises(RefusedError, match=told):
        connected(airflow).submit(submission(CHANGED))
    assert in_place(airflow) == text
    assert airflow.sent("POST") == []
    connected(airflow).submit(submission(FLOW))  # by which they go on
    for one in airflow.runs.values():
        one["state"] = "success"
    connected(airflow).submit(replace(submission(CHANGED), run_id="r2"))
    assert in_place(airflow) != text


def test_a_dag_that_goes_back_to_an_earlier_workflow_is_told_of(airflow: FakeAirflow) -> None:
    failed(airflow)
    put(airflow, CHANGED)
    told: list[str] = []
    with listening(told.append):
        connected(airflow).restart(run_of(), again(FLOW))
    [one] = told
    assert "the file of the DAG flow is not that with which r1 ran before" in one
    assert in_place(airflow) == TEXT
    failed(airflow)
    with listening(told.append):
        connected(airflow).restart(run_of(), again(CHANGED))
    assert told == [one]  # nobody has changed it in between
