"""Restart of runs that ended on their engines: what failed or changed, and what runs again."""

from __future__ import annotations

import hashlib
import os
import socket
import typing as t
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime

from couler.backends import get_backend
from couler.backends.base import Artifact, Target, choose_format
from couler.backends.remote import ChecksRestarts, Remote, Restart, UnbegunInterrupt
from couler.control import marks
from couler.control.connecting import connect, recorded_connection
from couler.control.following import remote_run
from couler.control.past import WELL, Keys, Task, parameter_values, past_tasks, recorded_outputs
from couler.control.submission import UNCONFIRMED, as_place, parameter_record
from couler.errors import (
    ConfigurationError,
    CoulerError,
    EngineError,
    LostRunError,
    RefusedError,
    RunBusyError,
)
from couler.ir import workflow as ir
from couler.ir.base import FrozenDict
from couler.ir.parameters import PlainText, parameter_texts
from couler.ir.semantics.foresight import Foresight, Progress
from couler.ir.semantics.outputs import RUNS, Instance, read_outside, required
from couler.ir.semantics.places import around, covers, find_places, shown_steps
from couler.ir.semantics.replay import Finding, PlannedStep, UnknownValueError, plan_replay
from couler.ir.semantics.status import FAILED, State
from couler.ir.semantics.values import RunFacts, View
from couler.ir.semantics.wire import decode
from couler.ir.serialize import read_json, write_json
from couler.ir.source_map import NO_CHANGE, SourceMap
from couler.ir.walk import HANDLER_PREFIX, StepPath, without_places
from couler.ir.workflow import Workflow
from couler.locations.code import upload_code
from couler.state import runs
from couler.state.database import Database
from couler.state.home import Home
from couler.state.journal import Journal
from couler.state.ownership import own_run
from couler.state.records import RunRecord, SessionRecord, Standing, StepRecord
from couler.state.source_maps import source_map_of


@dataclass(frozen=True, slots=True)
class Changes:
    """What is other than it was when a run was begun."""

    workflow: Workflow | None = None
    parameters: Mapping[str, object] | None = None
    from_step: str | None = None
    source_map: SourceMap = NO_CHANGE
    again: Mapping[str, str] = FrozenDict()


NOTHING: t.Final = Changes()

AGAIN: t.Final = "again"
"""The option of a session that says what was to run again in it."""

NOT_DONE: t.Final = (RefusedError, LostRunError, ConfigurationError)
"""Errors of a restart after which the run is as it was."""

_NOTHING_LEFT = (
    "the engine has it no more, so nothing of it can be kept; `couler submit` begins another run"
)


@dataclass(frozen=True, slots=True)
class Prepared:
    """What a restart would do, and with what."""

    plan: RestartPlan
    workflow: Workflow
    texts: Mapping[str, str]
    standing: Standing
    failed_around_steps: bool = False
    source_map: SourceMap = NO_CHANGE


def prepare(run: RunRecord, database: Database, changes: Changes = NOTHING) -> Prepared:
    """Return what a restart would do, without doing it."""
    as_place(run)
    if marks.has_mark(run, marks.LOST):
        raise LostRunError(f"{run.id}: {_NOTHING_LEFT}")
    standing = runs.standing_of(database, run.id)  # first: what follows is of it, or of a later one
    before = read_json(runs.workflow_of(database, run.id))
    after = before if changes.workflow is None else changes.workflow
    had = {name: str(given["text"]) for name, given in run.parameters.items()}
    values = {
        one.name: decode(had[one.name], one.type) for one in before.parameters if one.name in had
    }
    kept = {
        name: PlainText(value) if isinstance(value, str) else value
        for name, value in values.items()
        if any(parameter.name == name for parameter in after.parameters)
    }
    texts = parameter_texts(after.parameters, {**kept, **(changes.parameters or {})})
    ended = holding(runs.steps_of(database, run.id), runs.sessions_of(database, run.id))
    past = Past(run.id, before, had, ended, run.logical_date or "")
    names = source_map_of(database, run.id) if changes.workflow is None else changes.source_map
    plan = plan_restart(
        *(past, after, texts), from_step=changes.from_step, again=changes.again, source_map=names
    )
    has_ended_badly = run.status in ("failed", "cancelled")
    is_around = has_ended_badly and all(step.status not in FAILED for step in ended)
    return Prepared(plan, after, texts, standing, is_around, names)


def kept_steps(run: RunRecord, database: Database, changes: Changes) -> frozenset[str]:
    """Return the paths of steps that keep their ends as a whole, without items and rounds."""
    try:
        planned = prepare(run, database, changes).plan.steps
    except CoulerError:
        return frozenset()
    verdicts: dict[str, set[str]] = {}
    for step in planned:
        path = str(without_places(StepPath.parse(step.path)))
        verdicts.setdefault(path, set()).add(step.verdict)
    return frozenset(path for path, found in verdicts.items() if found <= {"reused", "cached"})


def holding(
    steps: Iterable[StepRecord], sessions: Iterable[SessionRecord]
) -> tuple[StepRecord, ...]:
    """Return the ends of steps that hold for the workflow that is recorded."""
    wanted: dict[str, int] = {}
    for session in sessions:
        if session.status != "refused":
            wanted |= dict.fromkeys(session.options.get(AGAIN, ()), session.number)
    return tuple(
        step
        for step in steps
        if step.status not in WELL or step.session >= wanted.get(step.path, 0)
    )


def check(
    run: RunRecord, prepared: Prepared, database: Database, environment: Mapping[str, str]
) -> None:
    """Refuse a restart that is only planned, as far as its engine would refuse its parameters."""
    had = {name: str(given["text"]) for name, given in run.parameters.items()}
    connection = recorded_connection(run)
    if prepared.texts == had:
        return
    remote = connect(connection, environment)
    if isinstance(remote, ChecksRestarts):
        artifact = _compile(run.engine, prepared.workflow, connection.target)
        order = Restart(prepared.workflow, artifact, prepared.texts, prepared.plan.again)
        remote.check_restart(remote_run(database, run), order)


def restart(
    run: RunRecord,
    prepared: Prepared,
    database: Database,
    home: Home,
    environment: Mapping[str, str],
) -> RunRecord:
    """Take up a run that has ended, and return its record; it goes on after that."""
    if run.status == "running":
        raise _going_on(run)
    connection = recorded_connection(run)
    artifact = _compile(run.engine, prepared.workflow, connection.target)
    order = Restart(prepared.workflow, artifact, prepared.texts, prepared.plan.again)
    with own_run(home.run_folder(run.id)):
        latest = runs.find_run(database, run.id)
        if latest.status == "running":
            raise _going_on(latest)
        remote = connect(connection, environment)
        upload_code(prepared.workflow, environment)
        _carry_out(latest, order, prepared, remote, database)
    return runs.find_run(database, run.id)


def _going_on(run: RunRecord) -> RunBusyError:
    return RunBusyError(f"{run.id} goes on; `couler cancel {run.id}` ends it")


def _compile(engine: str, workflow: Workflow, target: Target) -> Artifact:
    backend = get_backend(engine)
    return backend.compile(workflow, target, format=choose_format(backend, None))


def _carry_out(
    run: RunRecord, order: Restart, prepared: Prepared, remote: Remote, database: Database
) -> None:
    """Let the engine take the run up; what comes of it is recorded, whatever it is."""
    text = write_json(order.workflow)
    asked = remote_run(database, run)
    session = runs.begin_session(
        database,
        run.id,
        pid=os.getpid(),
        host=socket.gethostname(),
        started=datetime.now(UTC),
        options={AGAIN: sorted(order.again)},
        workflow_digest=hashlib.sha256(text.encode()).hexdigest(),
        ir_json=text,
        source_map=prepared.source_map,
        parameters=parameter_record(order.workflow, order.parameters),
        expected=prepared.standing,
    )
    with Journal(database, run.id, session, is_shared=True) as journal:
        try:
            place = remote.restart(asked, order)
        except NOT_DONE as error:
            _take_back(run, journal, database)
            if isinstance(error, LostRunError):
                error.add_note(f"{run.id}: {_NOTHING_LEFT}")
            raise
        except UnbegunInterrupt:
            _take_back(run, journal, database)
            raise
        except KeyboardInterrupt:
            _leave_open(journal, "it was interrupted")
            raise
        except EngineError as error:
            _leave_open(journal, str(error))
            raise
        except Exception as error:  # a defect, which may have come after the engine had done it
            _leave_open(journal, type(error).__name__)
            raise
        journal.run_reopened()  # who looked at it from another machine may have seen its old end
        journal.run_updated(place=marks.unmarked(place), message="")
        journal.flush()


def _take_back(run: RunRecord, journal: Journal, database: Database) -> None:
    """Record that a restart came to nothing, unless another has begun since."""
    runs.restore_run(database, run, journal.session)
    with Journal(database, run.id, journal.session) as own:
        own.session_ended("refused")
        own.flush()


def _leave_open(journal: Journal, why: str) -> None:
    """Record that nobody knows whether a run was taken up."""
    journal.run_updated(message=f"restart: {UNCONFIRMED}: {why}")
    journal.flush()


@dataclass(frozen=True, slots=True)
class Past:
    """A run as it ended."""

    run_id: str
    workflow: ir.Workflow
    parameters: Mapping[str, str] = field(default_factory=dict)
    steps: tuple[StepRecord, ...] = ()
    logical_date: str = ""


@dataclass(frozen=True, slots=True)
class RestartPlan:
    """What taking up a run would do."""

    steps: tuple[PlannedStep, ...]
    again: frozenset[str]


def plan_restart(
    past: Past,
    workflow: ir.Workflow | None = None,
    parameters: Mapping[str, str] | None = None,
    *,
    from_step: str | None = None,
    again: Mapping[str, str] = FrozenDict(),
    source_map: SourceMap = NO_CHANGE,
) -> RestartPlan:
    """Return what taking up a run would do with each step, and why."""
    now = past.workflow if workflow is None else workflow
    texts = past.parameters if parameters is None else parameters
    places = () if from_step is None else find_places(now, from_step, source_map)
    records = {record.path: record for record in past.steps}
    by_path = {StepPath.parse(record.path): record for record in past.steps}
    facts = RunFacts(past.run_id, past.logical_date)
    then = View(facts, parameters=parameter_values(past.workflow.parameters, past.parameters))
    view = View(facts, parameters=parameter_values(now.parameters, texts))
    tasks = past_tasks(past.workflow, then, records)
    wanted = {StepPath.parse(path): why for path, why in again.items()}
    wanted |= dict.fromkeys(places, "it is to run again")
    while True:
        known = _Known(Keys(now.volumes), records, tasks, wanted)
        planned = plan_replay(now, view, known, read=read_outside(now), all_handlers=True)
        ends = Ends(now, planned, by_path)
        opened = ends.failed_for_nothing()
        if not opened:
            return RestartPlan(planned, ends.again())
        wanted |= {path: f"{path} failed, and nothing in it did" for path in opened}


@dataclass(frozen=True, slots=True)
class _Known:
    """Finds what keeps its end."""

    keys: Keys
    records: Mapping[str, StepRecord]
    tasks: Mapping[str, Task]
    wanted: Mapping[StepPath, str]
    """What is to run again in any case, and why."""

    def find(self, instance: Instance, view: View, *, since: int) -> Finding:
        """Return what is known of an instance that runs something."""
        record = self.records.get(str(instance.path))
        try:
            key = self.keys.of(instance.step, view)
        except UnknownValueError:
            untold = "a value that it reads is not recorded"
            return Finding("runs", reason=None if since == RUNS else untold)
        for path, why in self.wanted.items():
            if covers(path, instance.path):
                return Finding("runs", reason=why)
        if since == RUNS:
            return Finding("runs")
        if record is None:
            return Finding("runs", reason="it has not run")
        objection = self._objection(instance, record, key, since)
        if objection is not None:
            return Finding("runs", reason=objection)
        state: State = "cached" if record.status == "cached" else "succeeded"
        names = self.tasks[record.path].outputs
        outputs = recorded_outputs(instance, record, names)
        return Finding("reused", state, outputs, record.session)

    def foresee(
        self, _instance: Instance, _foresight: Foresight, _progress: Progress
    ) -> Finding | None:
        """Return nothing: the engine runs what it does not know."""
        return None

    def _objection(
        self, instance: Instance, record: StepRecord, key: str, since: int
    ) -> str | None:
        if record.status not in WELL:
            return f"it {'failed' if record.status == 'failed' else f'was {record.status}'}"
        task = self.tasks.get(record.path)
        if task is None or task.key != key:
            return "its code, definition or inputs have changed"
        if record.session < since:
            return "something that it depends on has run after it"
        names = required(instance.outputs)
        missing = [name for name in names if name not in task.outputs | record.outputs.keys()]
        if missing:
            return f'its output "{missing[0]}" is read now, and was not kept'
        return None


class Ends:
    """Tells which recorded ends hold."""

    def __init__(
        self,
        workflow: ir.Workflow,
        planned: Iterable[PlannedStep],
        records: Mapping[StepPath, StepRecord],
    ) -> None:
        self._steps = shown_steps(workflow)
        self._planned = {StepPath.parse(step.path): step for step in planned}
        self._records = records
        self.kept = {path for path, step in self._planned.items() if self._keeps(path, step)}
        self._around_planned = set(_all_around(self._planned))
        self._around_kept = set(_all_around(self.kept))
        self._own = set(self._find_open())

    def again(self) -> frozenset[str]:
        """Return the paths of what does not keep its end."""
        found = set(self._own)
        if found:  # the run has another end: handlers that it did not have may run
            handlers = {path for path in self._records if _is_in_handler(path)}
            found |= handlers - self.kept - self._around_kept
        return frozenset(map(str, found))

    def failed_for_nothing(self) -> tuple[StepPath, ...]:
        """Return groups, foreachs and loops that failed though all in them keeps its end."""
        in_doubt = set(_all_around((self._planned.keys() - self.kept) | self._own))
        return tuple(
            path
            for path, record in self._records.items()
            if record.status in FAILED
            and path in self._around_kept
            and path not in in_doubt
            and path not in self._planned
        )

    def _keeps(self, path: StepPath, step: PlannedStep) -> bool:
        if step.verdict in ("reused", "runs"):
            return step.verdict == "reused"
        record = self._records.get(path)
        is_same = record is not None and record.status == step.verdict
        return is_same and not step.is_decided_anew

    def _find_open(self) -> Iterator[StepPath]:
        for path in self._planned:
            # A whole that cannot be evaluated fails as it did: what is in it need not run for that.
            if path not in self.kept and path not in self._around_kept:
                yield path
        for path, record in self._records.items():
            if path not in self._planned and not self._is_settled(path, record):
                yield path

    def _is_settled(self, path: StepPath, record: StepRecord) -> bool:
        """Return whether nothing is to be said of what is recorded and has no plan of its own."""
        if path in self._around_planned or _is_in_handler(path):
            return True
        step = self._steps.get(without_places(path))
        if step is None:
            return False  # what it was in has another end without it
        is_whole = Instance(step, path, ()).is_whole or isinstance(step.action, ir.Group)
        return is_whole and record.status in WELL


def _all_around(paths: Iterable[StepPath]) -> Iterator[StepPath]:
    for path in paths:
        yield from around(path)


def _is_in_handler(path: StepPath) -> bool:
    return path[0].name.startswith(HANDLER_PREFIX)
