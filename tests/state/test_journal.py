"""What an engine notes is read back as it was, after a flush and not before."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from datetime import timedelta, timezone
from types import MappingProxyType

import pytest

from couler.errors import StateError
from couler.state import (
    AttemptRecord,
    Database,
    Journal,
    RunRecord,
    StepRecord,
    attempts_of,
    begin_session,
    cache_decisions_of,
    delete_run,
    find_run,
    sessions_of,
    steps_of,
)
from tests.state.samples import ATTEMPT, DECISION, JSON, NOON, STEP


@pytest.fixture
def journal(database: Database, session: int) -> Iterator[Journal]:
    with Journal(database, "r1", session) as opened:
        yield opened


def step(path: str, ordinal: int = 1) -> StepRecord:
    return StepRecord(path, path.rpartition("/")[2], "succeeded", NOON, 1, ordinal)


def note_attempt(journal: Journal, attempt: AttemptRecord) -> None:
    journal.attempt_started(
        attempt.path, attempt.number, started=attempt.started, log=attempt.log, node=attempt.node
    )
    assert attempt.pid is not None
    journal.attempt_spawned(attempt.path, attempt.number, attempt.pid)
    assert attempt.finished is not None
    journal.attempt_ended(
        attempt.path,
        attempt.number,
        status=attempt.status,
        finished=attempt.finished,
        exit_code=attempt.exit_code,
        message=attempt.message,
        cpu_s=attempt.cpu_s,
        peak_bytes=attempt.peak_bytes,
    )


def test_everything_is_read_back(database: Database, journal: Journal) -> None:
    journal.step_ended(STEP)
    note_attempt(journal, ATTEMPT)
    journal.cache_decided(DECISION)
    journal.flush()
    assert steps_of(database, "r1") == [STEP]
    assert list(steps_of(database, "r1")[0].outputs) == list(JSON)
    assert attempts_of(database, "r1") == [ATTEMPT]
    assert cache_decisions_of(database, "r1") == [DECISION]


def test_an_empty_item_is_not_none(database: Database, journal: Journal) -> None:
    journal.step_ended(replace(step("a"), item=()))
    journal.step_ended(replace(step("b"), item=(1, 0)))
    journal.flush()
    assert [record.item for record in steps_of(database, "r1")] == [(), (1, 0)]


def test_text_that_no_database_takes_is_escaped(database: Database, journal: Journal) -> None:
    journal.step_ended(replace(step("fit"), message="a\0b \udc80 ü"))
    journal.flush()
    assert steps_of(database, "r1")[0].message == "a\\x00b \\udc80 ü"


def test_mappings_of_any_kind_are_written(database: Database, journal: Journal) -> None:
    outputs: Mapping[str, object] = MappingProxyType({"x": MappingProxyType({"y": (1, 2)})})
    journal.step_ended(replace(step("fit"), outputs=outputs))
    journal.flush()
    assert steps_of(database, "r1")[0].outputs == {"x": {"y": [1, 2]}}


def test_nothing_is_written_before_the_flush(database: Database, journal: Journal) -> None:
    assert journal.is_empty
    journal.step_ended(step("fit"))
    assert not journal.is_empty
    assert steps_of(database, "r1") == []
    journal.flush()
    assert journal.is_empty
    journal.flush()
    assert len(steps_of(database, "r1")) == 1


@pytest.mark.parametrize("flushes", range(8), ids=lambda bits: f"{bits:03b}")
def test_an_attempt_is_the_same_however_often_it_is_flushed(
    database: Database, journal: Journal, flushes: int
) -> None:
    """Each bit: whether there is a flush after the start, the spawn, the end."""
    journal.attempt_started("fit", 1, started=NOON, log="x.log")
    if flushes & 1:
        journal.flush()
        assert [(a.status, a.pid) for a in attempts_of(database, "r1")] == [("running", None)]
    journal.attempt_spawned("fit", 1, 42)
    if flushes & 2:
        journal.flush()
        assert [(a.status, a.pid) for a in attempts_of(database, "r1")] == [("running", 42)]
    journal.attempt_ended("fit", 1, status="failed", finished=NOON, exit_code=3)
    if flushes & 4:
        journal.flush()
    journal.flush()
    expected = AttemptRecord(
        "fit", 1, 1, NOON, "failed", finished=NOON, exit_code=3, pid=42, log="x.log"
    )
    assert attempts_of(database, "r1") == [expected]


def test_the_node_of_an_attempt_may_be_known_at_its_end_alone(
    database: Database, journal: Journal
) -> None:
    journal.attempt_started("fit", 1, started=NOON)
    journal.attempt_started("load", 1, started=NOON, node="n1")
    journal.flush()
    journal.attempt_ended("fit", 1, status="succeeded", finished=NOON, node="n2")
    journal.attempt_ended("load", 1, status="succeeded", finished=NOON)
    journal.flush()
    second = begin_session(database, "r1", pid=2, host="here", started=NOON)
    with Journal(database, "r1", second) as successor:  # it knows of no attempt under way
        successor.attempt_ended("load", 1, status="interrupted", finished=NOON)
        successor.flush()
    assert [one.node for one in attempts_of(database, "r1")] == ["n2", "n1"]


def test_processes_of_an_attempt_and_when_they_began(database: Database, journal: Journal) -> None:
    later, soon = NOON + timedelta(seconds=90), NOON + timedelta(seconds=0.2)
    journal.attempt_started("fit", 1, started=NOON)
    journal.attempt_spawned("fit", 1, 41, at=NOON, is_other=True)
    journal.attempt_spawned("fit", 1, 42, at=later)
    journal.attempt_started("load", 1, started=NOON)
    journal.attempt_spawned("load", 1, 43, at=soon)
    journal.flush()
    fit, load = attempts_of(database, "r1")
    assert (fit.pid, fit.begun()) == (42, {41: NOON, 42: later})
    assert (load.processes, load.begun()) == (None, {43: NOON})


def test_an_attempt_of_a_dead_session_is_ended(database: Database, journal: Journal) -> None:
    journal.attempt_started("fit", 1, started=NOON, log="x.log")
    journal.attempt_spawned("fit", 1, 42)
    journal.attempt_started("fit", 2, started=NOON)
    journal.flush()
    second = begin_session(database, "r1", pid=2, host="here", started=NOON)
    assert [a.pid for a in attempts_of(database, "r1", status="running")] == [42, None]
    with Journal(database, "r1", second) as successor:
        successor.attempt_ended("fit", 1, status="interrupted", finished=NOON, message="killed")
        assert not successor.is_empty
        successor.flush()
    ended, other = attempts_of(database, "r1")
    assert (ended.status, ended.message, ended.session, ended.pid, ended.log) == (
        "interrupted",
        "killed",
        1,
        42,
        "x.log",
    )
    assert other.status == "running"


def test_a_step_that_runs_again_replaces_what_was(database: Database, journal: Journal) -> None:
    journal.step_ended(replace(step("fit"), status="failed", message="no", exit_code=1))
    journal.flush()
    journal.step_ended(replace(step("fit", 2), status="omitted"))
    journal.step_ended(step("fit", 3))
    journal.flush()
    assert steps_of(database, "r1") == [step("fit", 3)]


INSIDE = ["fit/a", "fit/a/b", "fit/ü", "fit/a[0]@1"]
OUTSIDE = ["fit", "Fit/a", "fit[0]/a", "fit@1/a", "fit0", "fit-2/a", "f_t/a", "f%/a", "a/fit/b"]


@pytest.mark.parametrize("flushed", [True, False])
def test_what_is_inside_is_forgotten_and_nothing_else(
    database: Database, journal: Journal, flushed: bool
) -> None:
    for path in INSIDE + OUTSIDE:
        journal.step_ended(step(path))
    if flushed:
        journal.flush()
    journal.forget_inside("fit")
    assert not journal.is_empty
    journal.flush()
    assert {record.path for record in steps_of(database, "r1")} == set(OUTSIDE)


@pytest.mark.parametrize("path", ["f_t", "f%"])
def test_letters_in_paths_stand_for_themselves(
    database: Database, journal: Journal, path: str
) -> None:
    for other in INSIDE + OUTSIDE:
        journal.step_ended(step(other))
    journal.flush()
    journal.forget_inside(path)
    journal.flush()
    kept = {record.path for record in steps_of(database, "r1")}
    assert set(INSIDE + OUTSIDE) - kept == {f"{path}/a"}


def test_other_runs_are_left_alone(
    database: Database, journal: Journal, add_run: Callable[..., RunRecord]
) -> None:
    add_run("r2")
    with Journal(database, "r2", begin_session(database, "r2", pid=1, host="h", started=NOON)) as j:
        j.step_ended(step("fit/a"))
        j.flush()
    journal.forget_inside("fit")
    journal.forget(["fit/a"])
    journal.run_updated(status="failed")
    journal.session_ended("failed")
    journal.flush()
    assert [record.path for record in steps_of(database, "r2")] == ["fit/a"]
    assert find_run(database, "r2").status == "running"
    assert sessions_of(database, "r2")[0].status == "running"


def test_the_run_and_the_session_end(database: Database, journal: Journal) -> None:
    later = NOON + timedelta(hours=1)
    journal.run_updated(status="failed", message="failed: fit")
    journal.run_updated(outputs=JSON, finished=later.astimezone(timezone(timedelta(hours=5))))
    journal.session_ended("failed", finished=later)
    journal.flush()
    run = find_run(database, "r1")
    assert (run.status, run.message, run.outputs, run.finished) == (
        "failed",
        "failed: fit",
        JSON,
        later,
    )
    session = sessions_of(database, "r1")[0]
    assert (session.status, session.finished) == ("failed", later)
    assert run.finished is not None
    assert run.finished.utcoffset() == timedelta(0)


def test_what_cannot_be_written_is_refused_when_it_is_noted(journal: Journal) -> None:
    with pytest.raises(ValueError, match="has no time zone"):
        journal.step_ended(replace(STEP, finished=NOON.replace(tzinfo=None)))
    with pytest.raises(ValueError, match="time zone"):
        journal.attempt_started("fit", 1, started=NOON.replace(tzinfo=None))
    with pytest.raises(ValueError, match="JSON"):
        journal.step_ended(replace(STEP, outputs={"x": float("nan")}))
    assert journal.is_empty


def test_a_run_that_is_gone_is_an_error_and_what_was_noted_is_kept(
    database: Database, journal: Journal
) -> None:
    delete_run(database, "r1")
    journal.step_ended(STEP)
    with pytest.raises(StateError, match="cannot record run r1"):
        journal.flush()
    assert not journal.is_empty
