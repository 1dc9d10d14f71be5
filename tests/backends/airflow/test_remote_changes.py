"""Runs on an Airflow elsewhere are ended, taken up again, let go on and taken away."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any, cast

import pytest

from couler.backends.airflow.remote import AirflowRemote
from couler.backends.airflow.run_note import (
    cut_at,
    dated,
    digests,
    is_marked,
    marked,
    submitted,
    taken_up,
    unmarked,
)
from couler.backends.airflow.schedules import Schedules
from couler.backends.remote import (
    Restart,
)
from couler.errors import EngineError, RefusedError
from couler.ir.serialize import run_digest
from couler.ir.walk import StepPath
from couler.ir.workflow import Output, Step, Suspend
from tests.backends.airflow.elsewhere import (
    ALL,
    EXITS,
    FLOW,
    artifact,
    connected,
    order,
    the_run,
)
from tests.corpus.build import flow, sh
from tests.rest.faulty_server import says
from tests.support.airflow_api import TIME, FakeAirflow, Fault, task

MOMENT = datetime(2026, 3, 1, 12, tzinfo=UTC)


def test_a_run_is_ended_and_its_exit_handlers_run(airflow: FakeAirflow) -> None:
    airflow.begin("r1", note="mine")
    airflow.tasks = [task("a", "running"), *(task(one, None) for one in ALL[1:])]
    connected(airflow).cancel(the_run())
    change, told = airflow.sent("PATCH")
    assert change == {"state": "failed", "note": "mine\nCancelled by couler."}
    assert told == {"note": "mine\nCancelled by couler at 2026-03-01T12:00:00+00:00."}
    [cleared] = airflow.sent("POST", "clearTaskInstances")
    assert sorted(cleared["task_ids"]) == sorted(EXITS)
    assert (cleared["dry_run"], cleared["run_on_latest_version"]) == (False, False)


def test_what_was_cut_off_is_told_from_what_had_failed_before(airflow: FakeAirflow) -> None:
    airflow.begin("r1", "failed", note="Cancelled by couler at 2026-03-01T12:00:00+00:00.")
    airflow.tasks = [
        task("a", "failed"),
        {**task("b", "failed"), "end_date": "2026-03-01T11:00:00Z"},
    ]
    error = {"event": "Task failed with exception", "level": "error", "timestamp": "t"}
    away = {"exc_type": "NotFoundException", "exc_value": "(404)"}
    airflow.logs = {f"{one}/1": [{**error, "error_detail": [away]}] for one in "ab"}
    seen = connected(airflow).observe(the_run())
    assert seen.status == "cancelled"
    ends = [(one.status, one.message) for step in seen.steps for one in step.attempts]
    assert ends == [("error", "(404)"), ("cancelled", "the run was cancelled")]
    assert [one.status for one in seen.steps] == ["failed", "cancelled"]
    note = airflow.runs["r1"]["note"]
    airflow.runs["r1"].update(state="running", note=f"Earlier c{note[1:]}")
    seen = connected(airflow).observe(the_run())
    assert seen.status == "running"
    assert [one.status for step in seen.steps for one in step.attempts] == ["error", "cancelled"]


def test_where_nothing_runs_a_step_is_failed_for_the_exit_handlers(airflow: FakeAirflow) -> None:
    airflow.begin("r1")
    airflow.tasks = [task(one, None) for one in ALL]
    airflow.edges = {"a": ["b"], "b": ["exit-tell.when", "run-status"]}
    connected(airflow).cancel(the_run())
    assert airflow.sent("PATCH", "/taskInstances/a") == []
    assert airflow.sent("PATCH", "/taskInstances/b") == [{"new_state": "failed"}]


def test_a_run_that_has_ended_is_not_cancelled(airflow: FakeAirflow) -> None:
    airflow.begin("r1", "success")
    connected(airflow).cancel(the_run())
    assert [how for how, _, _ in airflow.asked] == ["GET"]


def a_failed_run(airflow: FakeAirflow, **fields: Any) -> AirflowRemote:
    airflow.begin("r1", "failed", **fields)
    airflow.tasks = [
        task("a", "success"),
        task("b", "failed"),
        *(task(one, "success") for one in EXITS[:2]),
        task("run-status", "failed"),
    ]
    airflow.edges = {
        "a": ["b"],
        "b": ["exit-tell.when", "exit-tell.mail", "run-status"],
        "exit-tell.when": ["exit-tell.mail"],
        "exit-tell.mail": ["run-status"],
        "run-status": [],
    }
    return connected(airflow)


def test_only_what_is_to_run_again_is_cleared(airflow: FakeAirflow) -> None:
    remote = a_failed_run(airflow, note="Cancelled by couler.")
    remote.restart(the_run(), Restart(FLOW, artifact(), {}, frozenset({"b"})))
    checked, cleared = airflow.sent("POST", "clearTaskInstances")
    assert (checked["dry_run"], cleared["dry_run"]) == (True, False)
    assert sorted(cleared["task_ids"]) == sorted(["b", *EXITS])
    assert (cleared["only_failed"], cleared["run_on_latest_version"]) == (False, True)
    digest = run_digest(FLOW, {})
    line = f"Taken up by couler as {digest}."
    assert airflow.runs["r1"]["note"] == f"Earlier cancelled by couler.\n{line}"
    assert remote.submit(order())["dag_run_id"] == "r1"


def test_a_restart_that_would_do_more_is_refused(airflow: FakeAirflow) -> None:
    remote = a_failed_run(airflow)
    airflow.also_cleared = [task("a", "success")]
    with pytest.raises(RefusedError, match=r"would run other tasks again as well: a\[-1\]"):
        remote.restart(the_run(), Restart(FLOW, artifact(), {}, frozenset({"b"})))
    assert airflow.tasks[1]["state"] == "failed"


def test_a_restart_needs_a_run_that_is_over_and_its_parameters(airflow: FakeAirflow) -> None:
    remote = a_failed_run(airflow, conf={"n": 1})
    other = Restart(FLOW, artifact(), {"n": "2"}, frozenset({"b"}))
    told = (
        r"keeps the parameters that it began with, and n would be .* another run with -p n=\.\.\."
    )
    for refused in (remote.restart, remote.check_restart):  # a plan is refused in the same words
        with pytest.raises(RefusedError, match=told):
            refused(the_run(), other)
    remote.check_restart(the_run(), Restart(FLOW, artifact(), {"n": "1"}, frozenset({"b"})))
    with pytest.raises(RefusedError, match="nothing of the run r1 is to run again"):
        remote.restart(the_run(), Restart(FLOW, artifact(), {"n": "1"}, frozenset()))
    airflow.runs["r1"]["state"] = "running"
    with pytest.raises(RefusedError, match="still under way"):
        remote.restart(the_run(), Restart(FLOW, artifact(), {"n": "1"}, frozenset({"b"})))


def failed_at_its_status(airflow: FakeAirflow) -> AirflowRemote:
    """Have a run all steps of which succeeded, and Airflow's own last task did not."""
    remote = a_failed_run(airflow)
    airflow.tasks[1] = task("b", "success")
    airflow.logs = {"run-status/1": [{"event": "API is away", "level": "error"}]}
    return remote


def test_a_task_of_airflow_that_failed_is_named(airflow: FakeAirflow) -> None:
    seen = failed_at_its_status(airflow).observe(the_run())
    assert (seen.status, {one.status for one in seen.steps}) == ("failed", {"succeeded"})
    assert seen.message == (
        'Airflow\'s task "run-status" failed, and no step of the workflow did: API is away'
    )


def test_what_airflow_ended_without_a_time_limit_has_none(airflow: FakeAirflow) -> None:
    airflow.begin("r1", "failed")
    airflow.tasks = [task("a", "success"), task("b", "skipped", ran=False)]
    assert connected(airflow).observe(the_run()).message == "Airflow ended the run"
    limited = FLOW.model_copy(update={"timeout_s": 60})
    told = connected(airflow).observe(the_run(workflow=limited)).message
    assert told == "Airflow ended the run; its time limit is 60 s"


def test_a_run_that_failed_in_none_of_its_steps_runs_only_that_again(airflow: FakeAirflow) -> None:
    remote = failed_at_its_status(airflow)
    remote.restart(the_run(), Restart(FLOW, artifact(), {}, frozenset()))
    _, cleared = airflow.sent("POST", "clearTaskInstances")
    assert cleared["task_ids"] == ["run-status"]


def test_a_person_answers_with_values_of_their_types(airflow: FakeAirflow) -> None:
    outputs = (Output(name="n", type="int"), Output(name="word", default="x"))
    asks = flow("flow", Step(name="ask", action=Suspend(), outputs=outputs), sh("a", "true"))
    airflow.begin("r1")
    airflow.tasks = [task("ask", "awaiting_input"), task("a", "running")]
    airflow.questions = {"ask": {"options": ["OK"]}}
    remote, run = connected(airflow), the_run(workflow=asks)
    remote.resume(run, StepPath.parse("ask"), {"n": "7"})
    assert airflow.sent("PATCH") == [
        {"chosen_options": ["OK"], "params_input": {"n": 7, "word": "x"}}
    ]
    with pytest.raises(RefusedError, match="a of r1 does not wait for a person"):
        remote.resume(run, StepPath.parse("a"))


def test_a_run_is_deleted_also_under_way(airflow: FakeAirflow) -> None:
    airflow.begin("r1")
    remote = connected(airflow)
    remote.delete(the_run())
    assert (airflow.runs, airflow.sent("PATCH")) == ({}, [{"state": "failed"}])
    remote.delete(the_run())


@pytest.mark.parametrize("where", ["PATCH /dagRuns/r1", "PATCH /taskInstances", "POST /clear"])
def test_a_cancel_that_broke_off_is_gone_on_with(airflow: FakeAirflow, where: str) -> None:
    airflow.begin("r1", note="mine")
    airflow.tasks = [task(one, None, ran=False) for one in ALL]
    airflow.edges = {"a": ["b"], "b": ["exit-tell.when", "run-status"]}
    method, _, place = where.partition(" ")
    broken = Fault(method, place, says(500, {"detail": "boom"}), after=method == "PATCH")
    airflow.faults = [broken]
    with pytest.raises(EngineError, match="boom"):
        connected(airflow).cancel(the_run())
    assert airflow.runs["r1"]["state"] == "failed"
    for one in airflow.tasks:  # as Airflow ends what has not begun
        one.update(state=one["state"] or "skipped", end_date=TIME)
    connected(airflow).cancel(the_run())
    assert airflow.tasks[1]["state"] == "failed"
    assert [one["state"] for one in airflow.tasks[2:]] == [None] * len(EXITS)
    told = "mine\nCancelled by couler at 2026-03-01T12:00:00+00:00."
    assert airflow.runs["r1"]["note"] == told


def test_a_run_goes_on_until_its_exit_handlers_were_cleared(airflow: FakeAirflow) -> None:
    now = datetime.now(UTC).isoformat()
    run = airflow.begin("r1", "failed", note="Cancelled by couler.", end_date=now)
    airflow.tasks = [
        task("a", "failed"),
        *(task(one, "skipped", ran=False) for one in ALL[1:]),
    ]
    remote = connected(airflow)
    assert remote.observe(the_run()).status == "running"
    run["end_date"] = TIME  # nobody has cleared them for long
    assert remote.observe(the_run()).status == "cancelled"
    run["end_date"] = now
    for one in airflow.tasks[2:]:
        one.update(state="success", pid=17)
    assert remote.observe(the_run()).status == "cancelled"  # they have run
    bare = FLOW.model_copy(update={"exit_handlers": ()})
    airflow.tasks = airflow.tasks[:2]
    assert remote.observe(the_run(workflow=bare)).status == "cancelled"  # there are none


def test_a_note_is_as_long_as_airflow_takes_it() -> None:
    note = f"{'mine ' * 190}\n{submitted('ab')}"
    for number in range(40):
        note = taken_up(unmarked(dated(marked(note), MOMENT)), f"{number:x}")
        assert len(note) <= 1000
    assert note.startswith("mine mine")
    assert digests(note)[0] == "ab"
    assert digests(note)[-1] == "27"
    long = marked("x" * 1000)
    assert (len(long), is_marked(long)) == (1000, True)
    assert cut_at(dated(long, MOMENT)) == MOMENT


def test_a_run_that_begins_between_two_questions_is_under_way() -> None:
    class Api:
        state = "queued"

        def runs(self, dag_id: str, state: str) -> list[str]:
            found = ["r1"] if state == self.state else []
            self.state = "running"
            return found

    def under_way() -> list[str]:
        return Schedules(cast(Any, Api()), None, between_s=0)._under_way("d")

    assert under_way() == ["r1"]
    Api.state = "running"
    assert under_way() == ["r1"]
