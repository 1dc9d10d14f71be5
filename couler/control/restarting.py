"""Runs that have ended on their engines are taken up again: what failed, and what has changed."""

from __future__ import annotations

import hashlib
import os
import socket
import time
import typing as t
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime

from couler.backends.base import Artifact, Target, choose_format
from couler.backends.registry import get_backend
from couler.backends.remote import Remote, RemoteRun, Restart
from couler.control.connecting import connect, recorded_connection
from couler.control.failing import decide_retry, failed_by_themselves
from couler.control.following import Tell, follow, remote_run
from couler.control.past import WELL
from couler.control.restart import Past, RestartPlan, plan_restart
from couler.control.submission import CANCELLED, UNCONFIRMED, as_place, parameter_record
from couler.errors import EngineError, RefusedError, RunBusyError
from couler.failures import GiveUp, Wait, WatchPolicy
from couler.ir.parameters import parameter_texts
from couler.ir.serialize import read_json, write_json
from couler.ir.workflow import Workflow
from couler.state import runs
from couler.state.database import Database
from couler.state.home import Home
from couler.state.journal import Journal
from couler.state.ownership import own_run
from couler.state.records import RunRecord, SessionRecord, StepRecord


@dataclass(frozen=True, slots=True)
class Changes:
    """What is other than it was when a run was begun.

    Attributes
    ----------
    workflow
        The workflow as it is now: after the passes, without defaults; None for the recorded one.
    parameters
        Values that take the place of those that it was started with.
    from_step
        A path, or the name of a step of the workflow: it runs again, and what comes after it.
    """

    workflow: Workflow | None = None
    parameters: Mapping[str, object] | None = None
    from_step: str | None = None


NOTHING: t.Final = Changes()

AGAIN: t.Final = "again"
"""The option of a session that says what was to run again in it."""


@dataclass(frozen=True, slots=True)
class Prepared:
    """What a restart would do, and with what.

    Attributes
    ----------
    plan
        What becomes of each step.
    workflow
        What would run.
    texts
        Values of its parameters by name, as texts on the wire.
    """

    plan: RestartPlan
    workflow: Workflow
    texts: Mapping[str, str]


def prepare(run: RunRecord, database: Database, changes: Changes = NOTHING) -> Prepared:
    """Return what a restart would do, without doing it.

    Raises
    ------
    ParameterError
        The parameters do not fit.
    StateError
        It is not known whether the engine has the run, or there is no such step.
    """
    as_place(run)
    before = read_json(runs.workflow_of(database, run.id))
    after = before if changes.workflow is None else changes.workflow
    had = {name: str(given["text"]) for name, given in run.parameters.items()}
    declared = {parameter.name for parameter in after.parameters}
    kept = {name: text for name, text in had.items() if name in declared}
    texts = parameter_texts(after.parameters, {**kept, **(changes.parameters or {})})
    ended = holding(runs.steps_of(database, run.id), runs.sessions_of(database, run.id))
    past = Past(run.id, before, had, ended, run.logical_date or "")
    plan = plan_restart(past, after, texts, from_step=changes.from_step)
    return Prepared(plan, after, texts)


def holding(
    steps: Iterable[StepRecord], sessions: Iterable[SessionRecord]
) -> tuple[StepRecord, ...]:
    """Return the ends of steps that hold for the workflow that is recorded.

    What was to run again in a session, and is still as an earlier one has left it, has not run with
    that session's workflow: the engine may not have taken the restart, or was cut off.
    """
    wanted: dict[str, int] = {}
    for session in sessions:
        if session.status != "refused":
            wanted |= dict.fromkeys(session.options.get(AGAIN, ()), session.number)
    return tuple(
        step
        for step in steps
        if step.status not in WELL or step.session >= wanted.get(step.path, 0)
    )


def restart(
    run: RunRecord,
    prepared: Prepared,
    database: Database,
    home: Home,
    environment: Mapping[str, str],
) -> RunRecord:
    """Take up a run that has ended, and return its record; it goes on after that.

    Raises
    ------
    RunBusyError
        It has not ended, or another process follows it.
    RefusedError
        The engine refused: the run stays as it was.
    EngineError
        The engine cannot be reached: what became of it is not known.
    """
    if run.status == "running":
        raise RunBusyError(f"{run.id} goes on; `couler cancel {run.id}` ends it")
    connection = recorded_connection(run)
    artifact = _compile(run.engine, prepared.workflow, connection.target)
    order = Restart(prepared.workflow, artifact, prepared.texts, prepared.plan.again)
    with own_run(home.run_folder(run.id)):
        asked = remote_run(database, run)
        _carry_out(run, asked, order, connect(connection, environment), database)
    return runs.find_run(database, run.id)


def _compile(engine: str, workflow: Workflow, target: Target) -> Artifact:
    backend = get_backend(engine)
    return backend.compile(workflow, target, format=choose_format(backend, None))


def _carry_out(
    run: RunRecord, asked: RemoteRun, order: Restart, remote: Remote, database: Database
) -> None:
    """Let the engine take the run up; what comes of it is recorded, whatever it is."""
    text = write_json(order.workflow)
    session = runs.begin_session(
        database,
        run.id,
        pid=os.getpid(),
        host=socket.gethostname(),
        started=datetime.now(UTC),
        options={AGAIN: sorted(order.again)},
        workflow_digest=hashlib.sha256(text.encode()).hexdigest(),
        ir_json=text,
        parameters=parameter_record(order.workflow, order.parameters),
    )
    with Journal(database, run.id, session) as journal:
        try:
            place = remote.restart(asked, order)
        except RefusedError:
            journal.session_ended("refused")
            journal.flush()
            runs.restore_run(database, run)
            raise
        except EngineError as error:
            journal.run_updated(message=f"restart: {UNCONFIRMED}: {error}")
            journal.flush()
            raise
        # An engine that goes on in the same place gives it back with what was noted there.
        left = {name: value for name, value in place.items() if name != CANCELLED}
        journal.run_updated(place=left, message="")
        journal.flush()


@dataclass(frozen=True, slots=True)
class Watch:
    """How a run is watched.

    Attributes
    ----------
    policy
        Which failures are tried again; None for none.
    on_event
        Told of what happens to each step.
    on_note
        Told, in a sentence, what the watcher does by itself.
    sleep
        Waits for some seconds.
    """

    policy: WatchPolicy | None = None
    on_event: Tell | None = None
    on_note: Callable[[str], None] | None = None
    sleep: Callable[[float], None] = time.sleep


def watch(
    run: RunRecord,
    database: Database,
    home: Home,
    environment: Mapping[str, str],
    how: Watch,
    *,
    is_restart: bool = False,
) -> RunRecord:
    """Follow a run to its end, and take it up again where its failures are such that pass.

    Only what failed and what depends on it runs again. The errors are those of `follow` and
    `restart`.
    """
    retries: Counter[str] = Counter()
    latest = run
    while True:
        latest = follow(
            latest, database, home, environment, on_event=how.on_event, is_restart=is_restart
        )
        if latest.status != "failed" or how.policy is None:
            return latest
        steps = runs.steps_of(database, run.id)
        decision = decide_retry(steps, run.engine, retries, how.policy)
        if how.on_note is not None and (retries or isinstance(decision, Wait)):
            how.on_note(decision.reason)
        if isinstance(decision, GiveUp):
            return latest
        how.sleep(decision.wait_s)
        prepared = prepare(latest, database)
        retries.update(step.path for step in failed_by_themselves(steps))
        latest = restart(latest, prepared, database, home, environment)
        is_restart = True
