"""What a whole Airflow tells of a run is enough to plan its restart."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime

import pytest

from couler.backends.remote import Observation, Restart
from couler.control.recording import Recorded, Recorder
from couler.control.restarting import Past, plan_restart
from couler.ir.defaults import resolve_defaults
from couler.ir.workflow import Workflow
from couler.state import Journal, begin_session, create_run, open_database, steps_of
from couler.state.records import RunRecord, StepRecord
from tests.airflow.test_remote import Elsewhere, artifact, elsewhere, life
from tests.corpus.build import compare, item, last, on_failure, or_else, part, ref, sh, while_

pytestmark = [pytest.mark.airflow, pytest.mark.timeout(1800)]

__all__ = ["elsewhere"]


def every_form() -> Workflow:
    """Return a workflow that goes well, with values read in all kinds of ways."""
    workflow = life("true")
    more = (
        sh("typed", "echo '{\"k\": [1, 2.0]}'", result="json"),
        sh("parts", "echo $1", part(ref("typed"), "k"), result="json"),
        sh("never", "echo 1", when=compare(ref("typed"), "==", "x"), result="int"),
        sh("reads", "echo $1", or_else(ref("never"), 7)),
        sh(
            "grow",
            "echo $(($1 + $2))",
            last(initial=0),
            item(),
            foreach=[1, 2],
            result="int",
            loop=while_(compare(last(), "<", 2), 4),
        ),
        sh("sum", "echo $1", ref("grow")),
        sh("repair", "true", depends_on=[on_failure("typed")]),
    )
    return workflow.model_copy(update={"steps": (*workflow.steps, *more)})


def recorded(seen: Observation) -> tuple[StepRecord, ...]:
    """Return what is recorded of a run."""
    now = datetime.now(UTC)
    with open_database("sqlite://") as database:
        create_run(database, RunRecord("r", "w", "0" * 64, "airflow", now), "{}")
        session = begin_session(database, "r", pid=1, host="here", started=now)
        with Journal(database, "r", session) as journal:
            Recorder(journal, Recorded.read(database, "r")).record(seen)
        return tuple(steps_of(database, "r"))


@pytest.mark.nightly
def test_nothing_runs_again_of_what_went_well(elsewhere: Elsewhere) -> None:
    run = elsewhere.submit(every_form(), "well-1", word="good")
    steps = elsewhere.end(run)
    seen = elsewhere.seen[-1]
    assert seen.status == "succeeded", seen
    past = Past("well-1", run.workflow, {"word": "good"}, recorded(seen))
    plan = plan_restart(past)
    assert plan.again == set(), plan.steps
    assert {step.path for step in plan.steps if step.verdict == "skipped"} == {"never", "repair"}
    leaves = {path for path, step in steps.items() if step.attempts}
    assert {step.path for step in plan.steps if step.verdict == "reused"} == leaves
    other = plan_restart(past, parameters={"word": "better"})
    assert other.again - {"exit:tell"} == {"train", "report/write"}
    assert plan_restart(past, from_step="grow[1]@0").again >= {"grow[1]@0", "sum"}


def test_a_plan_is_carried_out(elsewhere: Elsewhere) -> None:
    words = {"word": "trained"}
    run = elsewhere.submit(life("exit 3"), "planned-1", **words)
    elsewhere.end(run)
    before, pods = recorded(elsewhere.seen[-1]), elsewhere.pods(run)
    mended = resolve_defaults(life("true"))
    plan = plan_restart(Past("planned-1", run.workflow, words, before), mended)
    assert {step.path for step in plan.steps if step.verdict == "runs"} == {"train", "report/write"}
    restart = Restart(mended, artifact(mended), words, plan.again)
    run = replace(run, workflow=mended, place=elsewhere.remote.restart(run, restart))
    elsewhere.end(run)
    assert elsewhere.seen[-1].status == "succeeded"
    again = elsewhere.pods(run)
    for one in pods:
        again.remove(one)
    assert again == ["report.write[]", "train[]"]
    past = Past("planned-1", mended, words, recorded(elsewhere.seen[-1]))
    assert plan_restart(past).again == set()
