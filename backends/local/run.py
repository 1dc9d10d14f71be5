"""Runs of workflows on this machine: begun, and taken up again."""

from __future__ import annotations

import asyncio
import contextlib
import os
import socket
import tempfile
import uuid
from collections.abc import AsyncIterator, Iterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from functools import partial
from pathlib import Path

from couler.backends.local.attempting import LocalAttempter
from couler.backends.local.cache import StepCache, references
from couler.backends.local.capacity import Capacity
from couler.backends.local.dispatch import Dispatcher
from couler.backends.local.earlier import Earlier, left_out_items
from couler.backends.local.ends import End
from couler.backends.local.interpret import Interpreter
from couler.backends.local.locations import Exchange
from couler.backends.local.locations.exchange import SCRATCH, clear_scratch
from couler.backends.local.locks import Locks, hold_of
from couler.backends.local.masking import masked
from couler.backends.local.orphans import begun_in, end_orphans, end_run
from couler.backends.local.parameters import (
    Parameters,
    hold_files,
    merge_parameters,
    require_files,
    store_files,
    with_entries,
)
from couler.backends.local.place import Place
from couler.backends.local.recording import Recorder, eviction_text, now, record_lost
from couler.backends.local.resuming import Doorbell, Entered
from couler.backends.local.reuse import Known, Reuse, StepKeys, plan_retry
from couler.backends.local.runtimes import make_runtime
from couler.backends.local.session import Session
from couler.backends.local.signals import Interrupts, listen
from couler.backends.local.surroundings import Surroundings, require_surroundings
from couler.backends.local.threads import run_coroutine
from couler.backends.local.writing import explain_writing
from couler.budget.courses import course_of
from couler.budget.judging import Judge
from couler.errors import ArtifactError, StateError
from couler.ir.cachekey import text_digest
from couler.ir.semantics.outputs import Instance, read_outside
from couler.ir.semantics.places import find_places
from couler.ir.semantics.replay import PlannedStep
from couler.ir.semantics.status import CANCELLED
from couler.ir.semantics.values import RunFacts, View, read_outputs
from couler.ir.serialize import write_json
from couler.ir.source_map import NO_CHANGE, SourceMap
from couler.ir.walk import StepPath
from couler.ir.workflow import Workflow
from couler.locations.secrets import (
    secret_values,
)
from couler.state import runs
from couler.state.database import Database, open_database
from couler.state.garbage import file_texts
from couler.state.holds import hold_objects
from couler.state.journal import Journal
from couler.state.ownership import own_run
from couler.state.records import AttemptStatus, Json, RunRecord, StepRecord
from couler.state.results import Event, RunResult, StepResults
from couler.state.runs import note_session
from couler.state.signals import take_signals
from couler.store import ObjectStore, parse_reference

ENGINE = "local"


def begin(
    workflow: Workflow,
    parameters: Mapping[str, object],
    around: Surroundings,
    *,
    program: str | None = None,
    source_map: SourceMap = NO_CHANGE,
) -> RunResult:
    """Run a workflow that has not run before."""
    bound = _bind(workflow, around, parameters, {})
    require_files(bound)
    require_surroundings(workflow, around)
    home = around.home
    store = ObjectStore(home.store_url)
    files = store_files(bound, store, home)
    text = _text(workflow)
    run_id = f"{workflow.name}-{uuid.uuid4().hex[:8]}"
    started = now()
    run = RunRecord(
        id=run_id,
        workflow=workflow.name,
        workflow_digest=text_digest(text),
        engine=ENGINE,
        created=started,
        started=started,
        parameters=bound.to_record(),
        logical_date=started.isoformat(timespec="seconds"),
        folder=str(home.run_folder(run_id)),
        host=socket.gethostname(),
        program=program,
    )
    with (
        listen() as interrupts,
        open_database(home.database_url) as database,
        own_run(home.run_folder(run_id)),
    ):
        runs.create_run(database, run, text, source_map=source_map)
        hold_files(database, store, run_id, files)
        work = _Work(workflow, text, run, around, database, store, interrupts, source_map)
        return work.to_end()


def take_up(
    run: RunRecord,
    workflow: Workflow,
    parameters: Mapping[str, object],
    around: Surroundings,
    database: Database,
    interrupts: Interrupts,
    *,
    source_map: SourceMap = NO_CHANGE,
    from_step: str | None = None,
) -> RunResult:
    """Run what an earlier session has left: what failed, what was cut off, what has changed."""
    asked = _asked(workflow, from_step, source_map)
    bound = _bind(workflow, around, parameters, run.parameters)
    require_files(bound)
    require_surroundings(workflow, around)
    store = ObjectStore(around.home.store_url)
    files = store_files(bound, store, around.home)
    text = _text(workflow)
    with own_run(_folder(run, around)):
        hold_files(database, store, run.id, files)
        again = replace(run, parameters=bound.to_record(), workflow_digest=text_digest(text))
        work = _Work(
            *(workflow, text, again, around, database, store, interrupts, source_map), asked
        )
        return work.to_end()


def plan(
    run: RunRecord,
    workflow: Workflow,
    parameters: Mapping[str, object],
    around: Surroundings,
    database: Database,
    *,
    source_map: SourceMap = NO_CHANGE,
    from_step: str | None = None,
) -> tuple[PlannedStep, ...]:
    """Return what `take_up` would do with each step; the arguments are the same."""
    asked = _asked(workflow, from_step, source_map)
    bound = _bind(workflow, around, parameters, run.parameters)
    require_files(bound)
    store = ObjectStore(around.home.store_url, read_only=True)
    store_files(bound, store, around.home)  # gives their references
    view = View(RunFacts(run.id, run.logical_date or ""), parameters=bound.values)
    steps = {step.path: step for step in runs.steps_of(database, run.id)}
    known = _known(steps, run, workflow, around, database, store, again=asked)
    with tempfile.TemporaryDirectory(prefix="couler-") as folder:  # the store is read-only
        fetched = ObjectStore(f"file://{folder}/store")
        known.exchange = _exchange(workflow, run, fetched, around, Path(folder))
        planned = plan_retry(workflow, view, known, read=read_outside(workflow))
    secrets = secret_values(workflow, known.exchange.entries)
    return tuple(replace(step, reason=masked(step.reason, secrets)) for step in planned)


@dataclass(frozen=True, slots=True)
class _Work:
    """A session on a run that this process owns."""

    workflow: Workflow
    text: str
    """The workflow as it is recorded."""
    run: RunRecord
    around: Surroundings
    database: Database
    store: ObjectStore
    interrupts: Interrupts
    source_map: SourceMap
    again: tuple[StepPath, ...] = ()
    """What is to run again, whatever became of it."""

    def to_end(self) -> RunResult:
        run, database = self.run, self.database
        lost = runs.attempts_of(database, run.id, status="running")
        end_orphans(run.id, begun_in(lost))
        clear_scratch(_folder(run, self.around))
        sessions = runs.sessions_of(database, run.id)
        unclean = [it for it in sessions if it.status not in ("succeeded", "failed")]
        for name in dict.fromkeys(session.options["runtime"] for session in unclean):
            make_runtime(name, self.around.environ).end_orphans(run.id)
        number = runs.begin_session(
            database,
            run.id,
            pid=os.getpid(),
            host=socket.gethostname(),
            started=now(),
            options=self.around.options.as_json(),
            workflow_digest=run.workflow_digest,
            ir_json=self.text,
            source_map=self.source_map,
            parameters=run.parameters,
        )
        if sessions:
            # The cache may have all of it to itself, as it succeeded. How the run stands does not
            # tell: a session that was killed at its beginning leaves it running, and holds nothing.
            self._hold_again()
        with Journal(database, run.id, number) as journal:
            record_lost(journal, lost)
            try:
                try:
                    result = run_coroutine(lambda: self._run(journal), self.interrupts.ring)
                finally:
                    end_run(run.id)
                    clear_scratch(_folder(run, self.around))
            except KeyboardInterrupt:
                journal.flush()
                self._end_attempts(journal, "cancelled", CANCELLED)
                journal.run_updated(status="cancelled", finished=now(), message=CANCELLED)
                journal.session_ended("cancelled")
                journal.flush()
                raise
            except BaseException:  # what has ended is not to run again
                with contextlib.suppress(StateError):  # perhaps the reason
                    journal.flush()
                    self._end_attempts(journal, "interrupted", "the engine ended before it")
                    journal.flush()
                raise
            journal.run_updated(
                status=result.status,
                finished=result.finished,
                message=result.message,
                outputs=result.outputs,
            )
            journal.session_ended(result.status)
            journal.flush()
        if result.status == "succeeded" and self.around.options.use_cache:
            cache = _cache(run, self.workflow, self.around, database, self.store)
            for kept, told in cache.release():
                text = eviction_text(kept, told.reason)
                path = StepPath.parse(kept.path)
                self.around.on_event(Event("evicted", path, run.id, message=text))
        if not self.source_map:
            return result
        steps = StepResults(result.steps, self.source_map, result.finished)
        return replace(result, steps=steps, source_map=self.source_map)

    def _hold_again(self) -> None:
        """Keep what is still there of what the run has made before anything of it is taken over."""
        digests: list[str] = []
        for step in runs.steps_of(self.database, self.run.id):
            for text in file_texts(step.outputs):
                with contextlib.suppress(ArtifactError):  # lost already, or no reference
                    digests += self.store.digests(text)
        hold_objects(self.database, self.run.id, digests, of_cache=True)

    def _end_attempts(self, journal: Journal, status: AttemptStatus, message: str) -> None:
        """Record the end of the attempts that the session has cut off."""
        for attempt in runs.attempts_of(self.database, self.run.id, status="running"):
            journal.attempt_ended(
                attempt.path, attempt.number, status=status, finished=now(), message=message
            )

    async def _run(self, journal: Journal) -> RunResult:
        run, around, store = self.run, self.around, self.store
        place = self._place()
        with explain_writing(place.folder, "make the folders of the run"):
            place.make_folders()
            place.write_code(self.workflow.code)
        steps = {step.path: step for step in runs.steps_of(self.database, run.id)}
        attempts: dict[str, int] = {}
        for attempt in runs.attempts_of(self.database, run.id):
            attempts[attempt.path] = max(attempt.number, attempts.get(attempt.path, 0))
        locks = Locks(around.home.root / "locks")
        dispatcher = Dispatcher(Capacity.choose(around.options, self.workflow), locks)
        doorbell = Doorbell(self._resumed)
        known = _known(
            *(steps, run, self.workflow, around, self.database, store, place.exchange),
            again=self.again,
        )
        recorder = Recorder(
            journal,
            place.log,
            where=lambda text: str(store.local_path(text) or text),
            on_event=around.on_event,
            attempts=attempts,
            ordinal=max((step.ordinal for step in steps.values()), default=0),
            secrets=place.secrets,
            objects_of=partial(_own_objects, known, store),
        )
        interpreter = Interpreter(
            dispatcher,
            LocalAttempter(place, recorder, doorbell, locks),
            recorder,
            Reuse(recorder, known),
            partial(hold_of, entries=place.entries),
        )
        facts = RunFacts(id=run.id, logical_date=run.logical_date or "")
        session = Session(
            self.workflow,
            read_outputs(run.parameters),
            facts,
            run.started or run.created,
            place,
            recorder,
            interpreter,
            self.interrupts,
        )
        alive = signs_of_life(self.database, run.id, journal.session)
        with contextlib.closing(locks):  # an abandoned step does not give its lock back
            async with alive:
                result = await session.run()
        # Items and branches that the run does not have any more, with other parameters.
        gone = steps.keys() - result.steps.keys()
        if result.status != "succeeded":  # branches may not have been reached
            gone = left_out_items(gone, result.steps.keys())
        journal.forget(gone)
        return result

    def _place(self) -> Place:
        run, around = self.run, self.around
        folder = _folder(run, around)
        exchange = _exchange(self.workflow, run, self.store, around, folder)
        return Place(
            run_id=run.id,
            folder=folder,
            store=self.store,
            exchange=exchange,
            entries=exchange.entries,
            environ=exchange.environ,
            volumes={volume.name: volume for volume in self.workflow.volumes},
            runtime=make_runtime(around.options.runtime, around.environ),
            secrets=tuple(secret_values(self.workflow, exchange.entries)),
            pod=self.workflow.pod,
        )

    def _resumed(self) -> Iterator[tuple[str, Entered]]:
        for signal in take_signals(self.database, self.run.id):
            yield signal.path, signal.entered or {}


def _known(
    steps: dict[str, StepRecord],
    run: RunRecord,
    workflow: Workflow,
    around: Surroundings,
    database: Database,
    store: ObjectStore,
    exchange: Exchange | None = None,
    *,
    again: tuple[StepPath, ...],
) -> Known:
    """Return what finds that which need not run."""
    options = around.options
    return Known(
        Earlier(steps, store.exists, again),
        StepKeys(workflow.volumes, in_images=options.runtime != "process"),
        _cache(run, workflow, around, database, store) if options.use_cache else None,
        exchange,
    )


def _cache(
    run: RunRecord, workflow: Workflow, around: Surroundings, database: Database, store: ObjectStore
) -> StepCache:
    judge = Judge(around.budget, course_of(workflow, run.workflow))
    return StepCache(
        database,
        store,
        run_id=run.id,
        workflow=run.workflow,
        judge=judge,
        owns_store=around.home.store is None,
    )


def _own_objects(known: Known, store: ObjectStore, instance: Instance, end: End) -> list[str]:
    """Return what a run needs of an instance's end, whatever becomes of the cache."""
    if end.state != "succeeded" or end.key is None or known.asks_cache(instance.step):
        return []
    digests: list[str] = []
    for text in references(end.outputs):
        try:
            digests += store.digests(text)
        except (ArtifactError, OSError):  # the list of a directory that cannot be read now
            digests.append(parse_reference(text).digest)
    return digests


def _asked(
    workflow: Workflow, from_step: str | None, source_map: SourceMap
) -> tuple[StepPath, ...]:
    return () if from_step is None else find_places(workflow, from_step, source_map)


def _folder(run: RunRecord, around: Surroundings) -> Path:
    return Path(run.folder) if run.folder else around.home.run_folder(run.id)


def _exchange(
    workflow: Workflow, run: RunRecord, store: ObjectStore, around: Surroundings, folder: Path
) -> Exchange:
    return Exchange(
        store,
        around.home.repository_url,
        around.entries(workflow),
        folder / SCRATCH,
        around.inherited(run.id),
    )


def _text(workflow: Workflow) -> str:
    return write_json(workflow, indent=None)  # indented takes five times as long


def _bind(
    workflow: Workflow,
    around: Surroundings,
    given: Mapping[str, object],
    recorded: Mapping[str, Json],
) -> Parameters:
    """Return the parameters of a run; the errors are those of `merge_parameters`."""
    declared = with_entries(workflow.parameters, around.entries(workflow))
    return merge_parameters(declared, given, recorded)


PERIOD_S = 60.0
"""How often; those who look wait for many of them (`couler.state.leftovers.SILENCE`)."""


@asynccontextmanager
async def signs_of_life(database: Database, run_id: str, session: int) -> AsyncIterator[None]:
    """Record again and again that a session goes on, while the block lasts."""
    beating = asyncio.create_task(_beat(database, run_id, session))
    try:
        yield
    finally:
        beating.cancel()
        await asyncio.wait((beating,))


async def _beat(database: Database, run_id: str, session: int) -> None:
    while True:
        await asyncio.sleep(PERIOD_S)
        # What cannot be written now can be in a minute; of what stays so the journal tells.
        with contextlib.suppress(StateError):
            await asyncio.to_thread(note_session, database, run_id, session, datetime.now(UTC))
