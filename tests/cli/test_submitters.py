"""Submitters of Python: the runs that they make are those that the commands know."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

import couler as sdk
from couler.backends.base import Target
from couler.backends.remote import Connection
from couler.dsl._context import Context, entered
from couler.errors import ConfigurationError, EngineError, RunNotFoundError
from couler.submitters import submit_to

DONE = {"path": "hello", "status": "succeeded"}
STAGES = (
    {"steps": [{"path": "hello", "status": "running"}]},
    {"status": "succeeded", "steps": [DONE], "outputs": {"greeting": "hi"}},
)


@pytest.fixture
def workflow() -> sdk.Workflow:
    with entered(Context()), sdk.Workflow("greeting", who="you") as wf:
        sdk.run_container("busybox", ["echo", wf.params.who], step_name="hello")
    return wf


@pytest.fixture
def away(engine) -> Connection:
    engine.play(*STAGES)
    return Connection("scripted", Target(), {"folder": str(engine.folder)})


def test_a_run_is_held_and_followed(away: Connection, workflow, engine, couler: Callable) -> None:
    engine.log("hello", "hi\nthere\n")
    run = submit_to(away, workflow, parameters={"who": "me"}, name="mine")
    assert (run.run_id, repr(run)) == ("mine", "<couler run mine>")
    assert (run.status(), dict(run.outputs)) == ("running", {})
    assert run.logs("hello") == "hi\nthere"
    events = []
    result = run.wait(lambda event: events.append((event.kind, str(event.path))))
    assert events == [("started", "hello"), ("finished", "hello")]
    assert (result.status, result.outputs) == ("succeeded", {"greeting": "hi"})
    assert (run.status(), run.outputs) == ("succeeded", {"greeting": "hi"})
    assert run.wait().steps.keys() == {"hello"}  # it is over
    assert engine.calls("submit")[0]["parameters"] == {"who": "me"}
    [told] = couler("list", "--format", "json").json["runs"]
    assert (told["run"], told["engine"], told["target"]) == ("mine", "scripted", None)


def test_a_run_is_found_by_its_name(couler: Callable, greet: str, engine) -> None:
    engine.play(*STAGES)
    couler("submit", greet, "--target", "away", "--name", "mine")
    assert sdk.SubmittedRun("mi").run_id == "mine"
    assert sdk.SubmittedRun("latest").cancel() == "cancelled"
    assert sdk.SubmittedRun("mine").wait().status == "cancelled"
    with pytest.raises(RunNotFoundError, match='there is no run "other"'):
        sdk.SubmittedRun("other")


def test_an_engine_that_cannot_be_asked(away: Connection, workflow, engine) -> None:
    run = submit_to(away, workflow)
    engine.fail("no route to host")
    for ask in (run.status, run.wait, run.cancel, lambda: run.logs("hello")):
        with pytest.raises(EngineError, match="no route to host"):
            ask()


def test_the_local_submitter_runs_to_the_end(tmp_path: Path) -> None:
    with entered(Context()):
        sdk.run_container("busybox", ["echo", "hi"], step_name="hello")
        submitter = sdk.LocalSubmitter(jobs=1, home=tmp_path / "mine")
        result = sdk.run(submitter)
    assert result.status == "succeeded"
    assert result.steps["hello"].log.read_text() == "hi\n"
    assert (tmp_path / "mine/couler.db").is_file()


def test_paths_hold_in_every_folder(folder: Path) -> None:
    fields = sdk.AirflowSubmitter("http://x", "dags").connection.fields
    assert fields["dags"] == str(folder / "dags")
    fields = sdk.AirflowSubmitter("http://x", "s3://bucket/dags").connection.fields
    assert fields["dags"] == "s3://bucket/dags"


def test_a_secret_in_plain_is_refused_and_not_shown(away: Connection, workflow) -> None:
    plain = Connection("scripted", Target(), {**away.fields, "token": "hush-hush"})
    with pytest.raises(ConfigurationError, match="must be a reference") as caught:
        submit_to(plain, workflow)
    assert "hush" not in str(caught.value)
