"""Runs that ended are taken up again, by hand and by who watches them."""

from __future__ import annotations

import typing as t
from dataclasses import replace

import pytest

from couler.backends.remote import Observation, UnbegunInterrupt
from couler.control import restarting
from couler.control.following import follow
from couler.control.restarting import Changes, kept_steps, prepare, restart
from couler.control.results import result_of
from couler.control.submission import submit
from couler.control.watching import Watch, watch
from couler.errors import EngineError, ParameterError, RefusedError, RunBusyError, StateError
from couler.failures import MAX_RETRIES
from couler.ir.workflow import Parameter, Workflow
from couler.state import runs
from couler.state.database import Database
from couler.state.home import Home
from couler.state.records import RunRecord
from couler.state.results import Event
from tests.control.conftest import WORKFLOW, ToldRemote, order
from tests.control.test_following import step

BUSY = "etcdserver: request timed out"
BROKEN = Observation("failed", (step("fit", "succeeded"), step("tell", "failed", message=BUSY)))
WELL = Observation("succeeded", (step("fit", "succeeded"), step("tell", "succeeded")))


def _noted(**fields: t.Any) -> Workflow:
    note = Parameter(name="note", **fields)
    return WORKFLOW.model_copy(update={"parameters": (*WORKFLOW.parameters, note)})


TEXT, NUMBER, ANY = (_noted(type=one) for one in ("str", "int", "json"))
NULLABLE = _noted(type="json", nullable_text=True)


@pytest.fixture(autouse=True)
def _compiled(monkeypatch: pytest.MonkeyPatch) -> None:
    """The engine that is told what to say compiles nothing."""
    monkeypatch.setattr(restarting, "_compile", lambda *_: order().artifact)


@pytest.fixture
def failed(remote: ToldRemote, database: Database, home: Home) -> RunRecord:
    run = submit(order(depth=4), database, home, {})
    remote.observations = [BROKEN]
    return follow(run, database, home, {})


def test_only_what_failed_runs_again(
    failed: RunRecord, remote: ToldRemote, database: Database, home: Home
) -> None:
    prepared = prepare(failed, database)
    assert prepared.plan.again == {"tell"}
    assert {one.path: one.verdict for one in prepared.plan.steps} == {
        "fit": "reused",
        "tell": "runs",
    }
    again = restart(failed, prepared, database, home, {})
    assert (again.status, again.place) == ("running", {"name": failed.id, "restarts": 1})
    [sent] = remote.restarted
    assert (sent.again, dict(sent.parameters)) == ({"tell"}, {"depth": "4"})
    [_, session] = runs.sessions_of(database, failed.id)
    assert session.options == {"again": ["tell"]}

    later = WELL.steps[0], replace(WELL.steps[1], started=None)
    remote.observations = [Observation("succeeded", later)]
    events: list[Event] = []
    ended = follow(again, database, home, {}, on_event=events.append, is_restart=True)
    assert ended.status == "succeeded"
    assert [(event.kind, str(event.path)) for event in events if event.kind != "started"] == [
        ("reused", "fit"),
        ("finished", "tell"),
    ]


def test_a_step_can_be_named_from_which_it_runs(failed: RunRecord, database: Database) -> None:
    assert prepare(failed, database, Changes(from_step="fit")).plan.again == {"fit", "tell"}
    with pytest.raises(StateError, match=r"fitt"):
        prepare(failed, database, Changes(from_step="fitt"))


def test_what_has_changed_runs_again(failed: RunRecord, database: Database) -> None:
    assert prepare(failed, database, Changes(_other_fit())).plan.again == {"fit", "tell"}
    assert prepare(failed, database, Changes(parameters={"depth": 9})).plan.again == {"tell"}
    with pytest.raises(ParameterError, match=r'parameter "depth"'):
        prepare(failed, database, Changes(parameters={"depth": "deep"}))


def test_a_text_that_a_run_was_given_stays_the_text(
    remote: ToldRemote, database: Database, home: Home
) -> None:
    for given in ("12", '"quoted"', "null"):
        run = submit(order(workflow=NULLABLE, note=given), database, home, {})
        assert prepare(run, database).texts["note"] == run.parameters["note"]["text"]


@pytest.mark.parametrize(
    ("before", "given", "after", "text"),
    [
        (TEXT, "null", NULLABLE, '"null"'),
        (TEXT, '"quoted"', NULLABLE, r'"\"quoted\""'),
        (TEXT, "12", ANY, '"12"'),
        (NULLABLE, "12", TEXT, "12"),
        (NULLABLE, "12", ANY, '"12"'),
        (ANY, "null", NULLABLE, "null"),
        (NUMBER, "12", ANY, "12"),
    ],
)
def test_a_parameter_of_another_type_has_the_value_that_it_had(
    remote: ToldRemote,
    database: Database,
    home: Home,
    before: Workflow,
    given: str,
    after: Workflow,
    text: str,
) -> None:
    run = submit(order(workflow=before, note=given), database, home, {})
    assert prepare(run, database, Changes(after)).texts["note"] == text


@pytest.mark.parametrize(
    ("before", "given", "after"),
    [(ANY, "12", NULLABLE), (NULLABLE, "null", TEXT), (TEXT, "12", NUMBER), (NUMBER, "12", TEXT)],
)
def test_a_parameter_whose_type_excludes_the_value_that_it_had_needs_another(
    remote: ToldRemote,
    database: Database,
    home: Home,
    before: Workflow,
    given: str,
    after: Workflow,
) -> None:
    run = submit(order(workflow=before, note=given), database, home, {})
    with pytest.raises(ParameterError, match='parameter "note"'):
        prepare(run, database, Changes(after))
    assert prepare(run, database, Changes(after, {"note": "5"})).texts["note"] in ("5", '"5"')


def test_steps_that_keep_their_ends_are_known_before_the_plan_is_made(
    failed: RunRecord, database: Database
) -> None:
    assert kept_steps(failed, database, Changes(WORKFLOW)) == {"fit"}
    assert kept_steps(failed, database, Changes(_other_fit())) == frozenset()
    assert kept_steps(failed, database, Changes(WORKFLOW, from_step="fit")) == frozenset()
    # What is wrong is told when the plan is there.
    assert kept_steps(failed, database, Changes(WORKFLOW, from_step="fitt")) == frozenset()
    assert kept_steps(failed, database, Changes(WORKFLOW, {"depth": "deep"})) == frozenset()


def test_a_run_that_goes_on_is_not_taken_up(
    remote: ToldRemote, database: Database, home: Home
) -> None:
    run = submit(order(), database, home, {})
    with pytest.raises(RunBusyError, match=r"goes on; `couler cancel"):
        restart(run, prepare(run, database), database, home, {})
    assert remote.restarted == []


def test_a_restart_that_is_refused_leaves_the_run_as_it_was(
    failed: RunRecord, remote: ToldRemote, database: Database, home: Home
) -> None:
    remote.faults = [RefusedError("told: no")]
    with pytest.raises(RefusedError):
        restart(failed, prepare(failed, database), database, home, {})
    after = runs.find_run(database, failed.id)
    assert after == failed
    ends = [session.status for session in runs.sessions_of(database, failed.id)]
    assert ends == ["failed", "refused"]


def test_an_interrupt_before_anything_is_asked_leaves_the_run_as_it_was(
    failed: RunRecord, remote: ToldRemote, database: Database, home: Home
) -> None:
    remote.faults = [UnbegunInterrupt()]
    with pytest.raises(KeyboardInterrupt):
        restart(failed, prepare(failed, database), database, home, {})
    assert runs.find_run(database, failed.id) == failed


def test_an_interrupt_later_leaves_open_what_became_of_the_run(
    failed: RunRecord, remote: ToldRemote, database: Database, home: Home
) -> None:
    remote.faults = [KeyboardInterrupt()]
    with pytest.raises(KeyboardInterrupt):
        restart(failed, prepare(failed, database), database, home, {})
    after = runs.find_run(database, failed.id)
    assert after.status == "running"
    assert "it is not known whether" in (after.message or "")


def _other_fit() -> Workflow:
    fit, tell = WORKFLOW.steps
    other = fit.model_copy(update={"action": fit.action.model_copy(update={"image": "other"})})
    return WORKFLOW.model_copy(update={"steps": (other, tell)})


def test_a_refused_change_is_none(
    failed: RunRecord, remote: ToldRemote, database: Database, home: Home
) -> None:
    remote.faults = [RefusedError("told: no")]
    changes = Changes(_other_fit(), {"depth": 9})
    with pytest.raises(RefusedError):
        restart(failed, prepare(failed, database, changes), database, home, {})
    after = runs.find_run(database, failed.id)
    assert after == failed
    assert prepare(after, database).plan.again == {"tell"}
    assert prepare(after, database, changes).plan.again == {"fit", "tell"}


def test_a_restart_that_may_have_happened_is_told_so(
    failed: RunRecord, remote: ToldRemote, database: Database, home: Home
) -> None:
    remote.faults = [EngineError("told: got no answer")]
    with pytest.raises(EngineError):
        restart(failed, prepare(failed, database), database, home, {})
    after = runs.find_run(database, failed.id)
    assert after.status == "running"
    assert "it is not known whether" in (after.message or "")


def test_who_watches_tries_again_what_may_pass(
    remote: ToldRemote, database: Database, home: Home
) -> None:
    run = submit(order(), database, home, {})
    remote.observations = [BROKEN, BROKEN, WELL]
    notes: list[str] = []
    slept: list[float] = []
    how = Watch(MAX_RETRIES, on_note=notes.append, sleep=slept.append, random=lambda: 0.5)
    ended = watch(run, database, home, {}, how)
    assert ended.status == "succeeded"
    assert [sorted(sent.again) for sent in remote.restarted] == [["tell"], ["tell"]]
    assert slept == [2.5, 3.0, 2.0], "half of up to 5 s, and of up to 10 s in pieces"
    assert ["retry 1 of" in notes[0], "retry 2 of" in notes[1]] == [True, True]
    assert result_of(database, run.id).status == "succeeded"


def test_without_a_policy_nothing_is_tried_again(
    remote: ToldRemote, database: Database, home: Home
) -> None:
    run = submit(order(), database, home, {})
    remote.observations = [BROKEN]
    assert watch(run, database, home, {}, Watch()).status == "failed"
    assert remote.restarted == []
