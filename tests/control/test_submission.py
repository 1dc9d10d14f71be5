"""A run is recorded before its engine is asked: it is never lost, and never doubled."""

from __future__ import annotations

import typing as t
from dataclasses import replace

import pytest

from couler.control import submission
from couler.control.ending import cancel
from couler.control.following import remote_run
from couler.control.submission import UNCONFIRMED, submit, submit_again
from couler.errors import (
    ConfigurationError,
    EngineError,
    ParameterError,
    RefusedError,
    StateError,
)
from couler.ir.defaults import read_storage
from couler.ir.pods import RunLabel, RunSettings
from couler.ir.values import ParamRef
from couler.ir.workflow import CodeFile
from couler.locations.code import code_archive
from couler.state import runs
from couler.state.database import Database
from couler.state.home import Home
from couler.state.ownership import own_run
from couler.state.records import RunRecord
from tests.control.conftest import ToldRemote, order
from tests.support.s3_server import s3_server


def recorded(database: Database) -> RunRecord:
    [run] = runs.list_runs(database)
    return run


def test_a_run_is_recorded_with_where_its_engine_has_it(
    remote: ToldRemote, database: Database, home: Home
) -> None:
    run = submit(order(depth="5"), database, home, {})
    assert run == recorded(database)
    assert run.id.startswith("fit-2-")
    assert (run.engine, run.status, run.place) == ("told", "running", {"name": run.id})
    assert run.parameters == {"depth": {"text": "5", "type": "int"}}
    assert run.target == {"name": None, "fields": {}, "target": {}}
    [sent] = remote.submitted
    assert (sent.run_id, dict(sent.parameters)) == (run.id, {"depth": "5"})
    assert remote_run(database, run).workflow == sent.workflow


def test_the_archive_of_the_code_is_uploaded_before_the_engine_is_asked(
    remote: ToldRemote, database: Database, home: Home
) -> None:
    with s3_server() as server:
        code = (CodeFile(path="shop.py", text="SIZE = 1"),)
        plain = order("nightly")
        at = read_storage("s3", server.storage).model_copy(update={"key": "code.tgz"})
        wanted = replace(
            plain, workflow=plain.workflow.model_copy(update={"code": code, "code_at": at})
        )
        with pytest.raises(ConfigurationError, match=r"Set COULER_SECRET_store_access"):
            submit(wanted, database, home, {})
        assert remote.submitted == runs.list_runs(database) == []
        secrets = {f"COULER_SECRET_store_{name}": "test" for name in ("access", "secret")}
        run = submit(wanted, database, home, secrets)
        archive = server.filesystem.cat_file("data/code.tgz")
        assert archive == code_archive(wanted.workflow)
        server.filesystem.rm_file("data/code.tgz")
        submit_again(run, wanted.workflow, wanted.artifact, database, home, secrets)
        assert server.filesystem.exists("data/code.tgz")


def test_to_submit_a_name_twice_is_to_submit_once(
    remote: ToldRemote, database: Database, home: Home
) -> None:
    first = submit(order("nightly"), database, home, {})
    assert submit(order("nightly"), database, home, {}) == first
    assert len(remote.submitted) == 1


def test_a_parameter_that_makes_no_label_of_a_run_is_refused(
    remote: ToldRemote, database: Database, home: Home
) -> None:
    label = RunLabel(name="depth", value=ParamRef(name="depth"))
    plain = order(depth=5)
    labelled = plain.workflow.model_copy(update={"runs": RunSettings(labels=(label,))})
    submit(replace(plain, workflow=labelled), database, home, {})
    with pytest.raises(ParameterError, match=r'"-7" is no value of run labels'):
        submit(replace(plain, workflow=labelled, parameters={"depth": -7}), database, home, {})


def test_a_run_that_the_engine_refuses_is_recorded_as_failed(
    remote: ToldRemote, database: Database, home: Home
) -> None:
    remote.faults = [RefusedError("told: no such namespace")]
    with pytest.raises(RefusedError, match=r"no such namespace"):
        submit(order("nightly"), database, home, {})
    run = recorded(database)
    assert (run.status, run.place, run.message) == ("failed", None, "told: no such namespace")
    with pytest.raises(StateError, match=r"the engine did not take it: told: no such namespace"):
        remote_run(database, run)
    mended = submit(order("nightly"), database, home, {})
    assert (mended.status, mended.place, mended.message) == ("running", {"name": "nightly"}, "")


def test_a_credential_that_cannot_be_had_is_no_submission(
    remote: ToldRemote, database: Database, home: Home
) -> None:
    missing = "the token: the environment has no variable TOKEN"
    remote.faults = [ConfigurationError(missing)]
    with pytest.raises(ConfigurationError):
        submit(order("nightly"), database, home, {})
    run = recorded(database)
    assert (run.status, run.place, run.message) == ("failed", None, missing)
    [session] = runs.sessions_of(database, "nightly")
    assert session.status == "refused"
    assert cancel(run, database, home, {}).status == "failed"
    again = submit(order("nightly"), database, home, {})
    assert (again.status, again.place, again.finished) == ("running", {"name": "nightly"}, None)


def test_a_defect_leaves_open_whether_the_engine_has_it(
    remote: ToldRemote, database: Database, home: Home
) -> None:
    remote.faults = [KeyError("secret")]
    with pytest.raises(KeyError) as broken:
        submit(order("nightly"), database, home, {})
    assert "`couler retry nightly` submits it again" in broken.value.__notes__[0]
    assert (recorded(database).status, recorded(database).message) == (
        "running",
        f"{UNCONFIRMED}: KeyError",
    )


def test_what_another_process_has_submitted_meanwhile_is_not_submitted(
    remote: ToldRemote, database: Database, home: Home
) -> None:
    remote.faults = [EngineError("told: got no answer")]
    one = order("nightly")
    with pytest.raises(EngineError):
        submit(one, database, home, {})
    stale = recorded(database)
    submit(one, database, home, {})
    again = submit_again(stale, one.workflow, one.artifact, database, home, {})
    assert again.place == {"name": "nightly"}
    assert len(remote.submitted) == 2


@pytest.fixture
def overtaken(
    remote: ToldRemote, database: Database, home: Home, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Let another process submit a run just before this one records one of its name."""
    create_run = runs.create_run

    def create_late(*arguments: t.Any, **options: t.Any) -> None:
        monkeypatch.setattr(runs, "create_run", create_run)
        submit(order("nightly"), database, home, {})
        create_run(*arguments, **options)

    monkeypatch.setattr(runs, "create_run", create_late)


@pytest.mark.usefixtures("overtaken")
def test_who_is_overtaken_goes_on_with_the_run_of_the_other(
    remote: ToldRemote, database: Database, home: Home
) -> None:
    run = submit(order("nightly"), database, home, {})
    assert run == recorded(database)
    assert run.place == {"name": "nightly"}
    assert len(remote.submitted) == 1


@pytest.mark.usefixtures("overtaken")
def test_who_is_overtaken_by_another_workflow_is_refused(database: Database, home: Home) -> None:
    with pytest.raises(StateError, match=r"there is a run nightly already, with"):
        submit(order("nightly", depth=9), database, home, {})
    assert recorded(database).parameters == {}


def test_a_run_that_another_process_hands_over_is_waited_for(
    remote: ToldRemote, database: Database, home: Home, monkeypatch: pytest.MonkeyPatch
) -> None:
    one = order("nightly")
    submission._record(one, {}, database, home)
    waits = []

    def wait(seconds: float) -> None:
        waits.append(seconds)
        runs.change_run(database, "nightly", lambda _: {"place": {"name": "of the other"}})

    with own_run(home.run_folder("nightly")):
        monkeypatch.setattr(submission.time, "sleep", lambda s: wait(s) if s > 0.1 else None)
        run = submit(one, database, home, {})
    assert (run.place, len(waits), remote.submitted) == ({"name": "of the other"}, 1, [])


def test_a_process_that_dies_while_it_submits_has_said_so(
    remote: ToldRemote, database: Database, home: Home
) -> None:
    remote.faults = [KeyboardInterrupt()]  # type: ignore[list-item]  # ends the process
    with pytest.raises(KeyboardInterrupt):
        submit(order("nightly"), database, home, {})
    assert recorded(database).message == UNCONFIRMED


def test_wrong_parameters_and_names_leave_nothing(
    remote: ToldRemote, database: Database, home: Home
) -> None:
    with pytest.raises(ParameterError, match=r'there is no parameter "dept". Did you mean'):
        submit(order(dept=1), database, home, {})
    with pytest.raises(ParameterError, match=r'no parameter "rate". The workflow has: depth$'):
        submit(order(rate=1), database, home, {})
    for name in ("Nightly", "1st", "a-", "", "a" * 54, "ä"):
        with pytest.raises(ParameterError, match=r"is no name of a run"):
            submit(order(name or "-"), database, home, {})
    assert runs.list_runs(database) == []
    assert remote.asked == []
