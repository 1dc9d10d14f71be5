"""What `couler status` reads from the database is what the engine tells of a run."""

from __future__ import annotations

import os
import socket
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from couler.backends.base import RunOptions
from couler.backends.local import LocalBackend
from couler.cli._snapshot import Snapshot, take_snapshot
from couler.ir.policies import Foreach
from couler.ir.serialize import write_json
from couler.ir.values import Literal
from couler.ir.workflow import Container, Group, Step, Suspend, Workflow
from couler.state import (
    Database,
    Home,
    Journal,
    RunRecord,
    StepRecord,
    begin_session,
    create_run,
    open_database,
    own_run,
)
from tests.corpus import Case, cases
from tests.corpus.build import flow, group, item, param, parameter, sh

SHOWN = (
    "exit_handlers_of_failure",
    "foreach_files",
    "foreach_in_loop",
    "hostile_items",
    "loop_in_foreach",
    "retry_group",
)

START = datetime(2026, 1, 1, tzinfo=UTC)

SHELL = Container(image="busybox", command=("true",))
TWO = Foreach(over={"n": Literal(value=[1, 2])})
FLOW = Workflow(
    name="w",
    steps=(
        Step(name="first", action=SHELL),
        Step(name="inner", action=Group(steps=(Step(name="each", action=SHELL, foreach=TWO),))),
        Step(name="ask", action=Suspend(message="Go on?")),
        Step(name="pause", action=Suspend(seconds=60)),
        Step(
            name="level",
            action=Group(steps=(Step(name="deep", action=SHELL),), transparent=True),
        ),
    ),
)


@pytest.mark.parametrize("case", [case for case in cases() if case.name in SHOWN], ids=str)
def test_it_agrees_with_the_result(case: Case, tmp_path: Path) -> None:
    result = LocalBackend().run(
        case.workflow,
        parameters=case.parameters_with(tmp_path),
        options=RunOptions(home=tmp_path / "home", jobs=4),
        environ=dict(os.environ),
    )
    home = Home(tmp_path / "home")
    with open_database(home.database_url) as database:
        snapshot = take_snapshot(database, home, result.run_id)
    assert snapshot.status == result.status
    told = {str(view.path): (view.status, dict(view.outputs or {})) for view in snapshot.steps}
    assert told == {path: (step.status, dict(step.outputs)) for path, step in result.steps.items()}
    texts = list(told)
    assert texts.index(str(snapshot.steps[-1].path)) == len(texts) - 1
    for view in snapshot.steps:
        if len(view.path) > 1:
            assert texts.index(str(view.path.parent)) < texts.index(str(view.path))


@pytest.mark.parametrize("status", ["failed", "succeeded"])
def test_items_that_a_run_does_not_have_any_more_are_not_shown(status: str, tmp_path: Path) -> None:
    each = sh("each", "test $1 != 9", item(), foreach=param("items"))
    inner = group("inner", sh("deep", "true"), foreach=param("items"))
    last = sh("last", "test $1 = succeeded", param("status"), depends_on=["each", "inner"])
    declared = [parameter("items", [1, 9, 3], type="list"), parameter("status", "failed")]
    options = RunOptions(home=tmp_path, jobs=4)
    local = LocalBackend()
    first = local.run(flow("w", each, inner, last, parameters=declared), options=options)
    changed = {"items": [1], "status": status}
    result = local.retry(first.run_id, parameters=changed, options=options)
    home = Home(tmp_path)
    with open_database(home.database_url) as database:
        snapshot = take_snapshot(database, home, first.run_id)
    assert snapshot.status == result.status == status
    assert {str(view.path): view.status for view in snapshot.steps} == {
        "each": "succeeded",
        "each[0]": "succeeded",
        "inner": "succeeded",
        "inner[0]": "succeeded",
        "inner[0]/deep": "succeeded",
        "last": status,
    }


@pytest.fixture
def home(tmp_path: Path) -> Home:
    return Home(tmp_path)


@pytest.fixture
def database(home: Home) -> Iterator[Database]:
    """A database with the run `w-1` of `FLOW`, in its first session."""
    with open_database(home.database_url) as database:
        run = RunRecord(
            id="w-1",
            workflow="w",
            workflow_digest="0" * 64,
            engine="local",
            created=START,
            started=START,
            folder=str(home.run_folder("w-1")),
            host=socket.gethostname(),
        )
        create_run(database, run, write_json(FLOW))
        begin_session(database, "w-1", pid=1, host=socket.gethostname(), started=START)
        yield database


def look(database: Database, home: Home, *, is_running: bool = True) -> dict[str, str]:
    snapshot = looked(database, home, is_running=is_running)
    return {str(view.path): view.status for view in snapshot.steps}


def looked(database: Database, home: Home, *, is_running: bool = True) -> Snapshot:
    if not is_running:
        return take_snapshot(database, home, "w-1")
    with own_run(home.run_folder("w-1")):
        return take_snapshot(database, home, "w-1")


def ended(path: str, status: str, session: int = 1) -> StepRecord:
    return StepRecord(
        path=path,
        name=path.rpartition("/")[2].partition("[")[0],
        status=status,  # type: ignore[arg-type]  # one of them
        finished=START + timedelta(seconds=3),
        session=session,
        ordinal=1,
    )


def test_what_goes_on(database: Database, home: Home) -> None:
    assert set(look(database, home).values()) == {"waiting"}
    with Journal(database, "w-1", 1) as journal:
        for path in ("first", "inner/each[0]", "ask", "pause"):
            journal.attempt_started(path, 1, started=START + timedelta(seconds=1), log=None)
        journal.attempt_ended("first", 1, status="failed", finished=START, message="no", cpu_s=2.0)
        journal.step_ended(ended("inner/each[1]", "succeeded"))
        journal.flush()
    assert look(database, home) == {
        "first": "retrying",
        "inner": "running",
        "inner/each": "running",
        "inner/each[0]": "running",
        "inner/each[1]": "succeeded",
        "ask": "suspended",
        "pause": "running",
        "deep": "waiting",  # of a group that a pass made, and nobody sees
    }
    first, inner, *_ = looked(database, home).steps
    assert (first.attempts, first.message, first.cpu_s) == (1, "no", 2.0)
    assert inner.started == START + timedelta(seconds=1)
    assert inner.elapsed_s(START + timedelta(seconds=5)) == 4.0
    killed = look(database, home, is_running=False)
    assert {killed[path] for path in ("first", "inner/each[0]", "ask")} == {"interrupted"}
    assert (killed["inner"], killed["inner/each[1]"]) == ("interrupted", "succeeded")
    with Journal(database, "w-1", 1) as journal:  # by who cancels a run that was killed
        journal.run_updated(status="cancelled", finished=START)
        journal.flush()
    cut = look(database, home, is_running=False)
    assert {cut[path] for path in ("inner", "inner/each[0]", "ask")} == {"cancelled"}


def test_a_later_session_has_not_come_to_what_failed(database: Database, home: Home) -> None:
    with Journal(database, "w-1", 1) as journal:
        journal.attempt_started("first", 1, started=START, log=None)
        journal.attempt_ended("first", 1, status="failed", finished=START)
        journal.step_ended(ended("first", "failed"))
        journal.step_ended(ended("ask", "succeeded"))
        journal.step_ended(ended("gone", "failed"))
        journal.flush()
    begin_session(database, "w-1", pid=2, host=socket.gethostname(), started=START)
    found = look(database, home)
    assert (found["first"], found["ask"]) == ("waiting", "succeeded")
    assert "gone" not in found  # the workflow has no such step any more
    with Journal(database, "w-1", 2) as journal:
        journal.attempt_started("first", 2, started=START + timedelta(seconds=9), log=None)
        journal.flush()
        view = looked(database, home).steps[0]
        assert (view.status, view.attempts) == ("running", 2)
        assert view.started == START + timedelta(seconds=9)
        journal.attempt_ended("first", 2, status="succeeded", finished=START)
        journal.step_ended(ended("first", "succeeded", session=2))
        journal.flush()
    assert look(database, home)["first"] == "succeeded"
