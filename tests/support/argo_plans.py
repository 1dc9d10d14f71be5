"""What taking up a run of Argo's controller would do, from what is read of it."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime

from couler.backends.argo.observe import Observer
from couler.backends.remote import Observation
from couler.control.recording import Recorded, Recorder
from couler.control.restarting import Past, plan_restart
from couler.ir.workflow import Workflow
from couler.state import (
    Journal,
    RunRecord,
    StepRecord,
    begin_session,
    create_run,
    open_database,
    steps_of,
)
from tests.oracle.argo.result import OracleRun

_UNTRUE = (
    "its code, definition or inputs have changed",
    "a value that it reads is not recorded",
    "it has not run",
    "something that it depends on has run after it",
)
"""Reasons that nothing has in a run that went well."""


def check_nothing_runs_again(
    workflow: Workflow, parameters: Mapping[str, str], run: OracleRun
) -> None:
    """Fail if a run that went well would not be kept as it is, but for what failed in it."""
    seen = Observer(workflow).observe(run.whole)  # type: ignore[arg-type]  # JSON
    plan = plan_restart(Past(run.name, workflow, parameters, recorded(seen)))
    if all(step.status != "failed" for step in seen.steps):
        assert plan.again == set(), plan.steps
    assert {step.path for step in plan.steps if step.reason in _UNTRUE} == set(), plan.steps


def recorded(seen: Observation) -> tuple[StepRecord, ...]:
    """Return what the database has of a run that was looked at once."""
    now = datetime.now(UTC)
    database = open_database("sqlite://")
    create_run(database, RunRecord("r", "w", "0" * 64, "argo", now), "{}")
    session = begin_session(database, "r", pid=1, host="here", started=now)
    with Journal(database, "r", session) as journal:
        Recorder(journal, Recorded.read(database, "r")).record(seen)
    return tuple(steps_of(database, "r"))
