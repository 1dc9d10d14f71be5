"""Runs: made, begun, found, listed, signalled and deleted."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from datetime import timedelta

import pytest
import sqlalchemy as sa

from couler.errors import RunBusyError, RunExistsError, RunNotFoundError
from couler.state import (
    Database,
    Journal,
    RunRecord,
    attempts_of,
    begin_session,
    cache_decisions_of,
    create_run,
    delete_run,
    find_run,
    list_runs,
    send_signal,
    sessions_of,
    steps_of,
    take_signals,
    workflow_of,
)
from couler.state.runs import change_run, restore_run, standing_of
from couler.state.tables import metadata, schema_version
from tests.state.samples import DECISION, DIGEST, IR, NOON, RUN, STEP

AddRun = Callable[..., RunRecord]


def test_a_run_is_read_back(database: Database) -> None:
    create_run(database, RUN, IR)
    assert find_run(database, RUN.id) == RUN
    assert workflow_of(database, RUN.id) == IR


def test_no_two_runs_have_one_id(database: Database) -> None:
    create_run(database, RUN, IR)
    with pytest.raises(RunExistsError, match=f"there is a run {RUN.id} already"):
        create_run(database, replace(RUN, workflow="other"), IR)
    assert list_runs(database) == [RUN]


def test_the_latest_run_is_the_one_made_last_whatever_the_clock_said(database: Database) -> None:
    days = {"first": 0, "ahead": 400, "last": 1}
    for name, ahead in days.items():
        create_run(database, replace(RUN, id=name, created=NOON + timedelta(days=ahead)), IR)
    assert find_run(database, "latest").id == "last"
    assert [run.id for run in list_runs(database)] == ["last", "ahead", "first"]
    delete_run(database, "last")
    assert find_run(database, "latest").id == "ahead"


def test_a_session_begins_a_run_anew(database: Database) -> None:
    create_run(database, RUN, IR)
    send_signal(database, RUN.id, "gate", "resume")
    begin_session(database, RUN.id, pid=1, host="there", started=NOON + timedelta(days=1))
    run = find_run(database, RUN.id)
    expected = replace(RUN, status="running", finished=None, message=None, outputs={}, host="there")
    assert run == expected
    assert take_signals(database, RUN.id) == []


def test_a_session_may_change_the_workflow(database: Database, add_run: AddRun) -> None:
    add_run("r1")
    begin_session(database, "r1", pid=1, host="h", started=NOON)
    begin_session(
        database,
        "r1",
        pid=2,
        host="h",
        started=NOON,
        workflow_digest="c" * 64,
        ir_json="{}",
        parameters={"rate": 2},
    )
    run = find_run(database, "r1")
    assert (run.workflow_digest, run.parameters) == ("c" * 64, {"rate": 2})
    assert workflow_of(database, "r1") == "{}"
    digests = [session.workflow_digest for session in sessions_of(database, "r1")]
    assert digests == [DIGEST, "c" * 64]


def test_of_several_that_have_decided_alike_one_begins(database: Database, add_run: AddRun) -> None:
    add_run("r1")
    planned = standing_of(database, "r1")

    def begin(pid: int) -> bool:
        try:
            begin_session(database, "r1", pid=pid, host="h", started=NOON, expected=planned)
        except RunBusyError:
            return False
        return True

    with ThreadPoolExecutor(8) as threads:
        assert sum(threads.map(begin, range(8))) == 1
    assert len(sessions_of(database, "r1")) == 1


def test_a_run_is_restored_unless_a_later_session_has_begun(
    database: Database, add_run: AddRun
) -> None:
    before = replace(add_run("r1"), status="failed", message="no")
    for _ in range(2):
        begin_session(database, "r1", pid=1, host="h", started=NOON)
    restore_run(database, before, 1)
    assert find_run(database, "r1").status == "running"
    restore_run(database, before, 2)
    assert find_run(database, "r1") == before


def test_a_change_follows_from_how_the_run_stands(database: Database, add_run: AddRun) -> None:
    add_run("r1", place={"a": 1})
    assert change_run(database, "r1", lambda run: {"place": {**(run.place or {}), "b": 2}})
    assert find_run(database, "r1").place == {"a": 1, "b": 2}
    assert not change_run(database, "r1", lambda run: None)
    with pytest.raises(RunNotFoundError):
        change_run(database, "r2", lambda run: {"message": ""})


def test_a_shared_run_is_not_written_by_an_earlier_session(
    database: Database, session: int
) -> None:
    with Journal(database, "r1", session, is_shared=True) as journal:
        journal.step_ended(STEP)
        journal.flush()
        begin_session(database, "r1", pid=2, host="elsewhere", started=NOON)
        journal.step_ended(replace(STEP, path="later"))
        journal.run_updated(status="failed")
        with pytest.raises(RunBusyError, match=r"r1: another process has gone on with it"):
            journal.flush()
    assert [step.path for step in steps_of(database, "r1")] == [STEP.path]
    assert find_run(database, "r1").status == "running"


def test_a_run_is_found_by_its_name(database: Database, add_run: AddRun) -> None:
    for run_id in ("train-12", "train-123", "train_4", "score-1", "latest-1"):
        add_run(run_id)
    found = {
        text: find_run(database, text).id
        for text in ("train-12", "train-123", "train_", "s", "latest")
    }
    assert found == {
        "train-12": "train-12",  # exact, though another begins so
        "train-123": "train-123",
        "train_": "train_4",  # as it is written: no pattern
        "s": "score-1",
        "latest": "latest-1",
    }


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("train", r'several runs begin with "train": train-2, train-1\. Write more'),
        ("trian-1", r'there is no run "trian-1"\. The nearest: train-1'),
        ("TRAIN-1", r'there is no run "TRAIN-1"'),
        ("%", r'there is no run "%"\. `couler list` shows all'),
        ("", r'there is no run ""'),
    ],
)
def test_a_run_that_is_not_found(
    database: Database, add_run: AddRun, text: str, message: str
) -> None:
    add_run("train-1")
    add_run("train-2")
    with pytest.raises(RunNotFoundError, match=message) as raised:
        find_run(database, text)
    assert raised.value.exit_code == 2


def test_no_run_yet(database: Database) -> None:
    with pytest.raises(RunNotFoundError, match="there is no run yet"):
        find_run(database, "latest")


def test_lists_are_chosen_from(database: Database, add_run: AddRun) -> None:
    add_run("r1", workflow="a", status="failed")
    add_run("r2", workflow="b", status="failed")
    add_run("r3", workflow="b", status="succeeded")
    assert [run.id for run in list_runs(database)] == ["r3", "r2", "r1"]
    assert [run.id for run in list_runs(database, limit=2)] == ["r3", "r2"]
    assert [run.id for run in list_runs(database, workflow="b", status="failed")] == ["r2"]
    assert list_runs(database, workflow="c") == []


def test_signals_are_taken_once(database: Database, add_run: AddRun) -> None:
    add_run("r1")
    add_run("r2")
    for path in ("gate", "gate", "door"):
        send_signal(database, "r1", path, "resume")
    send_signal(database, "r2", "gate", "resume")
    assert [(signal.path, signal.kind) for signal in take_signals(database, "r1")] == [
        ("gate", "resume"),
        ("door", "resume"),
    ]
    assert take_signals(database, "r1") == []
    assert len(take_signals(database, "r2")) == 1


def test_a_deleted_run_leaves_nothing_but_counts(database: Database, session: int) -> None:
    with Journal(database, "r1", session) as journal:
        journal.step_ended(STEP)
        journal.attempt_started("fit", 1, started=NOON)
        journal.cache_decided(DECISION)
        journal.flush()
    send_signal(database, "r1", "gate", "resume")
    delete_run(database, "r1")
    assert not steps_of(database, "r1")
    assert not attempts_of(database, "r1")
    assert not cache_decisions_of(database, "r1")
    with database.read() as connection:
        for table in metadata.sorted_tables:
            if table is not schema_version:
                left = [(DECISION.decision, 1)] if table.name == "cache_counts" else []
                assert connection.execute(sa.select(table)).all() == left, table


@pytest.mark.parametrize(
    "ask",
    [
        lambda database: workflow_of(database, "no"),
        lambda database: delete_run(database, "no"),
        lambda database: send_signal(database, "no", "gate", "resume"),
        lambda database: begin_session(database, "no", pid=1, host="h", started=NOON),
    ],
    ids=["workflow_of", "delete_run", "send_signal", "begin_session"],
)
def test_a_run_that_does_not_exist(database: Database, ask: Callable[[Database], object]) -> None:
    with pytest.raises(RunNotFoundError, match='there is no run "no"'):
        ask(database)
