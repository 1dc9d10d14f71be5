"""Runs on an Airflow elsewhere: what it is asked, and what its faults end in."""

from __future__ import annotations

import os
import typing as t
from pathlib import Path

import pytest

from couler.backends.remote import (
    Connection,
)
from couler.errors import ConfigurationError, EngineError, LostRunError, RefusedError
from couler.ir.serialize import run_digest
from couler.ir.walk import StepPath
from couler.ir.workflow import Schedule
from tests.backends.airflow.elsewhere import (
    ALL,
    BACKEND,
    FLOW,
    artifact,
    connected,
    order,
    the_run,
)
from tests.corpus.build import flow, sh
from tests.rest.faulty_server import Answer, cut, half, says
from tests.support.airflow_api import FakeAirflow, Fault, task

# submit --------------------------------------------------------------------------------------


def test_a_run_is_begun_once(airflow: FakeAirflow) -> None:
    remote = connected(airflow)
    place = remote.submit(order(n="3"))
    assert place == {"dag_id": "flow", "dag_run_id": "r1", "file": "flow.py"}
    assert (airflow.folder / "flow.py").read_text() == artifact().to_text()
    assert os.listdir(airflow.folder) == ["flow.py"]
    assert not airflow.is_paused
    [sent] = airflow.sent("POST")
    note = f"Submitted by couler as {run_digest(FLOW, {'n': '3'})}."
    assert sent == {"dag_run_id": "r1", "logical_date": None, "conf": {"n": 3}, "note": note}
    (airflow.folder / "flow.py").unlink()
    assert remote.submit(order(n="3")) == place
    assert len(airflow.sent("POST")) == 1
    assert os.listdir(airflow.folder) == []  # a run that is there is left alone, with its file


@pytest.mark.parametrize("is_new", [True, False], ids=["in between", "before"])
@pytest.mark.parametrize("what", ["parameters", "workflow", "nobody knows"])
def test_a_run_of_another_submission_is_not_taken_for_it(
    airflow: FakeAirflow, what: str, is_new: bool
) -> None:
    other = flow("flow", sh("quite_different", "rm -rf /data"))
    digest = run_digest(*((FLOW, {"n": "1"}) if what == "parameters" else (other, {})))
    note = None if what == "nobody knows" else f"mine\nSubmitted by couler as {digest}."
    airflow.begin("r1", "success", conf={"n": 1}, note=note)
    if is_new:
        airflow.faults = [Fault("GET", "/dagRuns/r1", says(404, {"detail": "none"}))]
    with pytest.raises(RefusedError, match=r"has a run r1 already, of another.*\(--name\)"):
        connected(airflow).submit(order(n="99"))
    assert airflow.runs["r1"]["conf"] == {"n": 1}


def test_a_begin_of_which_the_answer_is_lost_is_not_doubled(airflow: FakeAirflow) -> None:
    airflow.faults = [Fault("POST", "/dagRuns", cut, after=True)]
    connected(airflow).submit(order())
    assert list(airflow.runs) == ["r1"]
    assert len(airflow.sent("POST")) == 2


def test_a_refusal_of_a_run_that_may_be_there_is_no_certain_one(airflow: FakeAirflow) -> None:
    refusal = Fault("POST", "/dagRuns", says(403, {"detail": "no"}), times=9)
    airflow.faults = [Fault("POST", "/dagRuns", cut), refusal]
    with pytest.raises(EngineError, match=r"403: no.*An earlier attempt may") as caught:
        connected(airflow).submit(order())
    assert not isinstance(caught.value, RefusedError)
    airflow.faults = [Fault("POST", "/dagRuns", says(403, {"detail": "no"}), times=9)]
    with pytest.raises(RefusedError, match="403: no"):
        connected(airflow).submit(order())


def test_an_error_of_import_names_the_step(airflow: FakeAirflow) -> None:
    airflow.is_read = False
    text = artifact().to_text().splitlines()
    line = next(number for number, one in enumerate(text, 1) if 'task_id="b"' in one)
    trace = (
        f'Traceback:\n  File "/dags/flow.py", line {line}, in <module>\nTypeError: no such field'
    )
    airflow.import_errors = [
        {"import_error_id": 1, "timestamp": "t", "filename": "other.py", "stack_trace": "x"},
        {"import_error_id": 2, "timestamp": "t", "filename": "d/flow.py", "stack_trace": trace},
    ]
    (airflow.folder / "flow.py").write_text(artifact().to_text())
    with pytest.raises(RefusedError) as caught:
        connected(airflow).submit(order())
    assert str(caught.value) == (
        f'airflow cannot import flow.py, line {line}, which is of the step "b": '
        "TypeError: no such field"
    )
    assert airflow.runs == {}


def test_an_error_of_the_former_file_is_not_taken_for_one_of_this(airflow: FakeAirflow) -> None:
    (airflow.folder / "flow.py").write_text("old")
    airflow.import_errors = [
        {"import_error_id": 2, "timestamp": "t", "filename": "flow.py", "stack_trace": "old"}
    ]
    connected(airflow).submit(order())
    assert list(airflow.runs) == ["r1"]


def test_a_file_that_is_never_read_is_given_up(airflow: FakeAirflow) -> None:
    airflow.is_read = False
    with pytest.raises(EngineError, match=r"not there after 0 s.*refresh_interval") as caught:
        connected(airflow, parse_timeout_s=0.01).submit(order())
    assert not isinstance(caught.value, RefusedError)


def test_a_target_needs_a_folder_that_is_there(airflow: FakeAirflow, tmp_path: Path) -> None:
    with pytest.raises(ConfigurationError, match=r"there is no folder .*gone"):
        connected(airflow, dags=str(tmp_path / "gone")).submit(order())
    fields = {"address": airflow.address}
    with pytest.raises(ConfigurationError, match="does not say where DAG files go"):
        BACKEND.connect(Connection("airflow", fields=fields), {}).submit(order())
    assert airflow.runs == {}


def test_a_schedule_is_put_in_place_and_paused(airflow: FakeAirflow) -> None:
    scheduled = FLOW.model_copy(update={"schedule": Schedule(cron=("0 3 * * *",))})
    remote = connected(airflow)
    place = remote.schedule(scheduled, artifact(scheduled))
    assert (place["dag_id"], airflow.is_paused) == ("flow", False)
    remote.pause(place)
    assert airflow.is_paused
    remote.unpause(place)
    assert not airflow.is_paused


# faults --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "body",
    [
        {"detail": "Database error"},
        {"detail": {"reason": "Another error"}},
        {"detail": {}},
        {"reason": "Database error"},
        ["Database error"],
        b"no",
    ],
)
def test_another_failure_of_the_server_is_no_reason_to_begin_twice(
    airflow: FakeAirflow, body: t.Any
) -> None:
    airflow.faults = [Fault("POST", "/dagRuns", says(500, body))]
    with pytest.raises(EngineError, match="refused with 500"):
        connected(airflow).submit(order())
    assert len(airflow.sent("POST")) == 1


@pytest.mark.parametrize(
    "answer",
    [
        says(429, {"detail": "slow down"}, Retry_After="0"),
        says(503, b"<h1>away</h1>", Retry_After="0"),
        says(500, {"detail": {"reason": "Database error", "message": "see the log"}}),
        half(b'{"dag_run_id": '),
        cut,
    ],
)
@pytest.mark.parametrize("where", ["GET /dagRuns/r1", "POST /dagRuns", "GET /taskInstances"])
def test_what_passes_is_borne(airflow: FakeAirflow, answer: Answer, where: str) -> None:
    method, _, place = where.partition(" ")
    airflow.tasks = [task(one, "success") for one in ALL]
    airflow.faults = [Fault(method, place, answer)]
    remote = connected(airflow)
    remote.submit(order())
    airflow.runs["r1"]["state"] = "success"
    assert remote.observe(the_run()).status == "succeeded"
    assert list(airflow.runs) == ["r1"]
    assert airflow.faults[0].times == 0


@pytest.mark.parametrize(
    ("answer", "told"),
    [
        (says(500, {"detail": "broken"}), "was refused with 500: broken"),
        (says(200, b"<html>hello</html>"), "something that is no JSON"),
        (says(200, [1]), "something else than Airflow's API gives"),
        (half(b"{"), "got no answer"),
        (cut, "got no answer"),
    ],
)
def test_what_does_not_pass_is_one_error(airflow: FakeAirflow, answer: Answer, told: str) -> None:
    airflow.begin("r1")
    airflow.faults = [Fault("GET", "/taskInstances", answer, times=10**6)]
    remote = connected(airflow, patience_s=0.2)
    with pytest.raises(EngineError, match=told) as caught:
        list(remote.follow(the_run()))
    assert "\n" not in str(caught.value)


def test_a_run_that_is_gone_is_lost(airflow: FakeAirflow) -> None:
    with pytest.raises(LostRunError, match="airflow has no run r1 of the DAG flow"):
        connected(airflow).observe(the_run())


# watching ------------------------------------------------------------------------------------


def test_a_run_is_followed_until_it_is_over(airflow: FakeAirflow) -> None:
    dag_run = airflow.begin("r1")
    airflow.tasks = [task(one, None) for one in ALL]
    seen = []
    for observation in connected(airflow).follow(the_run()):
        seen.append({str(one.path): one.status for one in observation.steps})
        if len(seen) == 1:
            airflow.tasks[0] = task("a", "running")
            airflow.faults = [Fault("GET", "/dagRuns/r1", cut, times=3)]
        elif len(seen) == 2:
            airflow.tasks[0] = task("a", "success")
            airflow.tasks[1] = task("b", "queued")
        elif len(seen) == 3:
            airflow.tasks = [task(one, "success") for one in ALL]
            dag_run["state"] = "success"
    assert seen == [
        {},
        {"a": "running"},
        {"a": "succeeded", "b": "waiting"},
        {
            "a": "succeeded",
            "b": "succeeded",
            "exit:tell/mail": "succeeded",
            "exit:tell": "succeeded",
        },
    ]


def test_a_paused_dag_is_told(airflow: FakeAirflow) -> None:
    (airflow.folder / "flow.py").write_text("")
    airflow.begin("r1", "queued")
    assert connected(airflow).observe(the_run()).message == (
        "the DAG flow is paused in Airflow: nothing of it begins"
    )


def test_tries_are_told_with_their_ends(airflow: FakeAirflow) -> None:
    airflow.begin("r1", "failed")
    airflow.tasks = [task("a", "failed", tries=2), task("b", "upstream_failed", tries=0)]
    airflow.tries = {"a": [task("a", "failed", tries=1), task("a", "failed", tries=2)]}
    error = {"event": "Task failed with exception", "level": "error", "timestamp": "t"}
    late = {"exc_type": "AirflowTaskTimeout", "exc_value": "Timeout, PID: 7"}
    away = {"exc_type": "PodLaunchFailedException", "exc_value": "Pod took too long to start"}
    airflow.logs = {
        "a/1": [{**error, "error_detail": [away]}],
        "a/2": [{**error, "error_detail": [late]}],
    }
    seen = {str(one.path): one for one in connected(airflow).observe(the_run()).steps}
    assert [(one.number, one.status, one.message) for one in seen["a"].attempts] == [
        (1, "error", "Pod took too long to start"),
        (2, "failed", "Timeout, PID: 7"),
    ]
    assert seen["b"].message == "it needs the success of a, which failed"
    assert seen["b"].attempts == ()


def test_what_is_left_out_is_told_once_it_holds(airflow: FakeAirflow) -> None:
    whole = flow(
        "flow",
        sh("a", "true"),
        sh("b", "true", depends_on=["a"]),
        sh("c", "true", depends_on=["b"]),
        sh("d", "false"),
        sh("e", "true", depends_on=["d"]),
    )
    left = [task(one, "upstream_failed", tries=0) for one in "bce"]
    airflow.begin("r1", "running")
    airflow.tasks = [task("a", "running", tries=2), task("d", "failed"), *left]
    seen = connected(airflow).observe(the_run(workflow=whole))
    assert {str(one.path): one.status for one in seen.steps} == {
        "a": "running",
        "d": "failed",
        "e": "omitted",
    }
    airflow.tasks[0] = task("a", "failed", tries=2)
    seen = connected(airflow).observe(the_run(workflow=whole))
    assert {str(one.path) for one in seen.steps if one.status == "omitted"} == {"b", "c", "e"}


def test_what_failed_and_left_no_log_names_its_task(airflow: FakeAirflow) -> None:
    airflow.begin("r1", "failed")
    airflow.tasks = [task("a", "success"), task("b", "failed"), task("exit-tell.when", "failed")]
    seen = {str(one.path): one for one in connected(airflow).observe(the_run()).steps}
    assert {path: one.message for path, one in seen.items()} == {
        "a": None,
        "b": 'Airflow\'s task "b" failed, and its log does not tell why',
        "exit:tell": 'Airflow\'s task "exit-tell.when" failed, and its log does not tell why',
    }


def test_logs_are_those_of_a_try(airflow: FakeAirflow) -> None:
    airflow.begin("r1")
    airflow.tasks = [task("a", "running", tries=2), task("b", None)]
    logger = "airflow.providers.cncf.kubernetes.utils.pod_manager.PodManager"
    said = [{"event": f"[base] {word}", "logger": logger, "timestamp": "t"} for word in "xyz"]
    airflow.logs = {"a/1": said[:1], "a/2": said}
    remote, path = connected(airflow), StepPath.parse("a")
    assert list(remote.logs(the_run(), path)) == ["x", "y", "z"]
    assert list(remote.logs(the_run(), path, attempt=1)) == ["x"]
    assert list(remote.logs(the_run(), StepPath.parse("b"))) == []
    with pytest.raises(EngineError, match="a of r1 has no attempt 3; it had 2"):
        list(remote.logs(the_run(), path, attempt=3))
    with pytest.raises(EngineError, match='no step "c" that runs something'):
        list(remote.logs(the_run(), StepPath.parse("c")))
    lines = remote.logs(the_run(), path, follow=True)
    assert [next(lines), next(lines), next(lines)] == ["x", "y", "z"]
    said.append({**said[0], "event": "[base] last\n"})
    airflow.tasks[0] = task("a", "success", tries=2)
    assert list(lines) == ["last"]


# getting in ----------------------------------------------------------------------------------


def test_a_name_and_a_password_give_a_token(airflow: FakeAirflow, tmp_path: Path) -> None:
    airflow.tokens = {"given"}
    airflow.begin("r1", "success")
    airflow.tasks = [task("a", "success"), task("b", "success")]
    fields = {"address": airflow.address, "username": "ann", "password": {"env": "PW"}}
    remote = BACKEND.connect(Connection("airflow", fields=fields), {"PW": "right"})
    assert remote.observe(the_run()).status == "succeeded"
    assert len(airflow.sent("POST", "/auth/token")) == 1
    airflow.faults = [Fault("GET", "/dagRuns/r1", says(401, {"detail": "expired"}))]
    assert remote.observe(the_run()).status == "succeeded"
    assert len(airflow.sent("POST", "/auth/token")) == 2
    remote = BACKEND.connect(Connection("airflow", fields=fields), {"PW": "wrong-secret"})
    with pytest.raises(EngineError, match="Invalid credentials") as caught:
        remote.observe(the_run())
    assert "wrong-secret" not in str(caught.value)


@pytest.mark.parametrize(
    ("fields", "told"),
    [
        ({}, r'the target "prod": address .*such as https://'),
        ({"adress": "http://x"}, "adress"),
        ({"address": "x"}, "is no address such as"),
        ({"address": "http://x", "poll_s": 0}, "poll_s"),
        ({"address": "http://x", "dags": 3}, "dags"),
        ({"address": "http://x", "insecure": "yes"}, "insecure"),
        ({"address": "http://x", "token": "abc"}, "must be a reference"),
        ({"address": "http://x", "username": "ann"}, "a username and a password, or neither"),
        ({"address": "http://x", "token": {"env": "A"}, "username": "b"}, "only one of them"),
    ],
)
def test_wrong_fields_are_refused(fields: dict[str, object], told: str) -> None:
    with pytest.raises(ConfigurationError, match=told) as caught:
        BACKEND.connect(Connection("airflow", fields=fields, name="prod"), {})
    assert "abc" not in str(caught.value)


@pytest.mark.parametrize("state", [None, "removed"])
def test_a_run_that_ran_by_another_file_has_failed(airflow: FakeAirflow, state: str | None) -> None:
    airflow.begin("r1", "success")
    airflow.tasks = [task("a", "success"), task("b", state), task("other", "success")]
    seen = connected(airflow).observe(the_run())
    assert seen.status == "failed"
    told = "Airflow has run another file of the DAG flow than that of this run, without its steps b"
    assert seen.message == told
    assert [one.status for one in connected(airflow).follow(the_run())] == ["failed"]
