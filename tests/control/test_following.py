"""What an engine tells is recorded until the run is over, and its failures are explained."""

from __future__ import annotations

import re
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from couler.backends.remote import (
    Observation,
    Observed,
    ObservedAttempt,
    StepState,
)
from couler.control.ending import cancel, delete_remote, resume
from couler.control.failing import decide_retry
from couler.control.following import follow, refresh, remote_run, save_failed_step_logs
from couler.control.log_reading import read_log
from couler.control.restarting import prepare
from couler.control.results import result_of
from couler.control.submission import submit
from couler.errors import ConfigurationError, EngineError, LostRunError, RefusedError, RunBusyError
from couler.failures import MAX_RETRIES, GiveUp, Wait
from couler.ir.walk import StepPath
from couler.state import runs
from couler.state.database import Database
from couler.state.home import Home
from couler.state.journal import Journal
from couler.state.ownership import own_run, shown_status
from couler.state.records import RunRecord
from couler.state.results import Event
from tests.control.conftest import ToldRemote, order

NOON = datetime(2026, 3, 1, 12, tzinfo=UTC)
OOM = "main: OOMKilled (exit code 137)"


def step(
    name: str, status: StepState, *, message: str | None = None, exit_code: int = 0
) -> Observed:
    """Return how a step stood that began at noon."""
    end = NOON + timedelta(seconds=5)
    if status == "running":
        return Observed(
            StepPath.parse(name), status, NOON, attempts=(ObservedAttempt(1, "running", NOON),)
        )
    attempt = ObservedAttempt(
        1, "succeeded" if status == "succeeded" else "failed", NOON, end, exit_code, message
    )
    outputs = {"result": {"text": "7", "type": "int"}} if status == "succeeded" else {}
    return Observed(
        StepPath.parse(name), status, NOON, end, (attempt,), message, exit_code, outputs
    )


FAILED = Observation(
    "failed",
    (
        step("fit", "failed", message=OOM, exit_code=137),
        Observed(StepPath.parse("tell"), "omitted", finished=NOON),
    ),
)


@pytest.fixture
def run(remote: ToldRemote, database: Database, home: Home) -> RunRecord:
    return submit(order(), database, home, {})


def test_a_run_is_recorded_to_its_end(
    run: RunRecord, remote: ToldRemote, database: Database, home: Home
) -> None:
    remote.observations = [
        Observation("running", message="nobody has taken it up yet"),
        Observation("running", (step("fit", "running"),)),
        Observation("running", (step("fit", "succeeded"), step("tell", "running"))),
        Observation(
            "succeeded", (step("fit", "succeeded"), step("tell", "succeeded")), {"best": 7}
        ),
    ]
    events: list[Event] = []
    ended = follow(run, database, home, {}, on_event=events.append)
    assert (ended.status, ended.outputs, ended.message) == ("succeeded", {"best": 7}, "")
    assert [(event.kind, str(event.path)) for event in events] == [
        ("started", "fit"),
        ("finished", "fit"),
        ("started", "tell"),
        ("finished", "tell"),
    ]
    result = result_of(database, run.id)
    assert (result.status, result.outputs) == ("succeeded", {"best": 7})
    assert result.steps["fit"].outputs == {"result": 7}
    assert {event.run for event in events} == {run.id}


def test_what_failed_is_explained_and_its_log_kept(
    run: RunRecord, remote: ToldRemote, database: Database, home: Home
) -> None:
    remote.observations = [FAILED]
    remote.lines = {"fit": [f"line {number}" for number in range(6000)]}
    follow(run, database, home, {})
    result = result_of(database, run.id)
    assert result.steps["fit"].message is not None
    assert result.steps["fit"].message.startswith("OOMKilledErr: ")
    assert OOM in result.steps["fit"].message
    log = result.steps["fit"].log
    assert log is not None
    assert log.read_text().splitlines()[:1] == ["line 1000"]
    assert len(log.read_text().splitlines()) == 5000
    [attempt] = runs.attempts_of(database, run.id)
    assert (attempt.status, attempt.exit_code) == ("failed", 137)

    remote.lines = {"fit": LostRunError("told: the pod has gone")}
    assert next(read_log(run, StepPath.parse("fit"), database, {})) == "line 1000"
    with pytest.raises(LostRunError, match=r"the pod has gone"):
        list(read_log(run, StepPath.parse("fit"), database, {}, attempt=1))


def test_attempts_are_named_by_their_recorded_numbers(
    run: RunRecord, remote: ToldRemote, database: Database, home: Home
) -> None:
    hour = timedelta(hours=1)
    again = replace(
        FAILED.steps[0],
        started=NOON + hour,
        finished=NOON + 2 * hour,
        attempts=(
            ObservedAttempt(1, "failed", NOON + hour, NOON + hour, 1),
            ObservedAttempt(2, "failed", NOON + hour, NOON + 2 * hour, 1),
        ),
    )
    fit = StepPath.parse("fit")
    remote.observations = [FAILED]
    refresh(run, database, home, {})
    list(read_log(run, fit, database, {}, attempt=1))
    remote.observations = [Observation("failed", (again,))]
    runs.begin_session(database, run.id, pid=1, host="here", started=NOON + hour)
    refresh(run, database, home, {})
    assert [one.number for one in runs.attempts_of(database, run.id)] == [1, 2, 3]
    for number in (2, 3):
        list(read_log(run, fit, database, {}, attempt=number))
    with pytest.raises(EngineError, match=r"attempt 1 of fit .* taken up again"):
        list(read_log(run, fit, database, {}, attempt=1))
    list(read_log(run, fit, database, {}))
    assert remote.attempts == [1, 1, 2, None]


@pytest.mark.parametrize("error", [EngineError, ConfigurationError])
def test_an_engine_that_has_no_log_does_not_hide_the_end(
    run: RunRecord, remote: ToldRemote, database: Database, home: Home, error: type[Exception]
) -> None:
    remote.observations = [FAILED]
    remote.lines = {"fit": error("told: no logs")}
    assert follow(run, database, home, {}).status == "failed"


def test_two_do_not_follow_one_run(
    run: RunRecord, remote: ToldRemote, database: Database, home: Home
) -> None:
    remote.observations = [FAILED]
    with own_run(Path(run.folder or "")):
        with pytest.raises(RunBusyError):
            follow(run, database, home, {})
        assert refresh(run, database, home, {}).status == "running"
        remote.faults = [EngineError("told: got no answer")]
        with pytest.raises(EngineError, match="got no answer"):  # who follows it waits, perhaps
            refresh(run, database, home, {})
    assert shown_status(run) == "running", "it goes on though nobody follows it"
    assert refresh(run, database, home, {}).status == "failed"


def test_a_run_that_is_cancelled_is_no_failed_one(
    run: RunRecord, remote: ToldRemote, database: Database, home: Home
) -> None:
    slept: list[float] = []
    remote.observations = [Observation("running"), Observation("running"), FAILED]
    latest = cancel(run, database, home, {}, sleep=slept.append)
    assert (latest.status, len(slept)) == ("cancelled", 1)
    assert remote.asked == ["submit", "observe", "cancel", "observe", "observe"]
    assert latest.place == {"name": run.id, "cancelled": True}
    assert cancel(run, database, home, {}, patience_s=-1).status == "cancelled"
    assert len(remote.asked) == 5, "it is over"


def test_a_cancel_that_is_not_answered_may_have_been_heard(
    run: RunRecord, remote: ToldRemote, database: Database, home: Home
) -> None:
    remote.observations = [Observation("running"), FAILED]
    remote.faults = [None, EngineError("told: got no answer")]
    with pytest.raises(EngineError):
        cancel(run, database, home, {})
    assert refresh(runs.find_run(database, run.id), database, home, {}).status == "cancelled"


def test_a_cancel_that_is_refused_leaves_nothing(
    run: RunRecord, remote: ToldRemote, database: Database, home: Home
) -> None:
    remote.observations = [Observation("running"), FAILED]
    remote.faults = [None, RefusedError("told: no")]
    with pytest.raises(RefusedError):
        cancel(run, database, home, {})
    assert refresh(runs.find_run(database, run.id), database, home, {}).status == "failed"


def test_a_run_that_the_engine_has_no_more_has_ended(
    run: RunRecord, remote: ToldRemote, database: Database, home: Home
) -> None:
    remote.observations = [Observation("running", (step("fit", "running"),))]
    refresh(run, database, home, {})
    remote.faults = [LostRunError("told: it has no such run")]
    lost = refresh(runs.find_run(database, run.id), database, home, {})
    assert lost.status == "failed"
    assert lost.finished is not None
    assert re.match(
        r"told: it has no such run: asked for at .* UTC\. How it ended is not known\. "
        r"`couler submit` begins another run, `couler delete fit-2-\w+` forgets this one$",
        lost.message or "",
    )
    [attempt] = runs.attempts_of(database, run.id)
    assert attempt.status == "error"
    [session] = runs.sessions_of(database, run.id)
    assert session.status == "failed"

    remote.faults = [LostRunError("told: it has no such run")]
    assert refresh(lost, database, home, {}) == lost, "what was recorded stays"
    assert cancel(lost, database, home, {}).status == "failed"
    with pytest.raises(LostRunError, match=r"nothing of it can be kept; `couler submit` begins"):
        prepare(lost, database)

    there = refresh(lost, database, home, {})  # such as after a mistake in the settings
    assert (there.status, there.place) == ("running", {"name": run.id})


def test_a_run_that_is_lost_while_it_is_followed_has_ended(
    run: RunRecord, remote: ToldRemote, database: Database, home: Home
) -> None:
    remote.faults = [LostRunError("told: it has no such run")]
    assert follow(run, database, home, {}).status == "failed"


def test_a_run_that_is_lost_after_it_was_told_to_end_is_cancelled(
    run: RunRecord, remote: ToldRemote, database: Database, home: Home
) -> None:
    remote.observations = [Observation("running")]
    remote.faults = [None, LostRunError("told: it has no such run"), LostRunError("told: no")]
    assert cancel(run, database, home, {}).status == "cancelled"


def many_failed(count: int) -> Observation:
    return Observation(
        "failed", tuple(step(f"each[{number}]", "failed", exit_code=1) for number in range(count))
    )


def test_keeping_logs_takes_its_time_only(
    run: RunRecord, remote: ToldRemote, database: Database, home: Home
) -> None:
    remote.observations = [many_failed(3)]
    refresh(run, database, home, {})
    remote.lines = {f"each[{number}]": ["first", "last"] for number in range(3)}
    seconds = iter(range(0, 10_000, 25))
    with Journal(database, run.id, 1) as journal:
        asked = remote_run(database, runs.find_run(database, run.id))
        save_failed_step_logs(remote, asked, journal, database, home, clock=lambda: next(seconds))
    logs = [one.path for one in runs.steps_of(database, run.id) if one.log]
    assert (logs, remote.asked.count("logs")) == ([], 1), "half a log is none"
    told = runs.find_run(database, run.id).message or ""
    assert "the logs of 3 of 3 failed steps " in told


def test_other_verbs_reach_the_engine(
    run: RunRecord, remote: ToldRemote, database: Database
) -> None:
    resume(run, StepPath.parse("fit"), database, {}, {"answer": "yes"})
    delete_remote(run, database, {})
    remote.faults = [LostRunError("told: it has no such run")]
    delete_remote(run, database, {})
    assert remote.asked == ["submit", "resume", "delete", "delete"]


def test_only_what_may_pass_is_tried_again(
    run: RunRecord, remote: ToldRemote, database: Database, home: Home
) -> None:
    busy = "etcdserver: request timed out"
    remote.observations = [
        Observation("failed", (step("fit", "failed", message=busy), step("tell", "succeeded")))
    ]
    follow(run, database, home, {})
    steps = runs.steps_of(database, run.id)
    decision = decide_retry(steps, "argo", {}, MAX_RETRIES, random=lambda: 0.5)
    assert isinstance(decision, Wait)
    assert decision.wait_s > 0
    assert "retry 1 of" in decision.reason
    assert isinstance(decide_retry(steps, "argo", {"fit": 99}, MAX_RETRIES), GiveUp)
    assert isinstance(decide_retry(steps, "argo", {}, 0), GiveUp)
    given_up = decide_retry(steps[1:], "argo", {}, MAX_RETRIES)
    assert given_up == GiveUp("no step has failed by itself")
