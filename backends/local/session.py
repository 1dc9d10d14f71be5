"""One session of a run: from what earlier sessions left to the end of the exit handlers."""

from __future__ import annotations

import asyncio
import contextlib
import shutil
import typing as t
from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import datetime
from pathlib import Path

from couler.backends.local.ahead import Around
from couler.backends.local.ends import End, ScopeEnd, bad_end, cut_off
from couler.backends.local.interpret import Interpreter
from couler.backends.local.limits import OUT_OF_TIME, Limits
from couler.backends.local.place import OUTPUTS, Place
from couler.backends.local.recording import Recorder, now
from couler.backends.local.signals import Interrupts
from couler.backends.local.writing import explain_writing
from couler.errors import ArtifactError, MissingOutputError
from couler.ir.semantics.outputs import (
    Instance,
    read_outside,
    read_results,
    scope_outputs,
    shown_steps,
)
from couler.ir.semantics.places import failure_text
from couler.ir.semantics.status import CANCELLED, FAILED
from couler.ir.semantics.values import (
    VALUE_ERRORS,
    Gathered,
    Outputs,
    RunFacts,
    Stored,
    View,
    resolve,
)
from couler.ir.values import StepRef, is_file
from couler.ir.walk import HANDLER_PREFIX, PathPart, StepPath
from couler.ir.workflow import ExitHandler, Group, Output, Step, Workflow
from couler.state.results import RunEnd, RunResult
from couler.store import ObjectStore, parse_reference

TIME_LIMIT = "the time limit of the workflow ended it"


@dataclass(slots=True)
class Session:
    """Runs a workflow from its start to its exit handlers, once."""

    workflow: Workflow
    parameters: Mapping[str, Stored]
    facts: RunFacts
    started: datetime
    place: Place
    recorder: Recorder
    interpreter: Interpreter
    interrupts: Interrupts

    async def run(self) -> RunResult:
        """Run to the end."""
        interpreter = self.interpreter
        work = _Work(self)
        loop = asyncio.get_running_loop()
        loop.set_exception_handler(self._end_by_callback)
        running = loop.create_task(work.to_end())
        self.interrupts.bind(loop, work.interrupt)
        try:
            await asyncio.wait((running, interpreter.failure), return_when=asyncio.FIRST_COMPLETED)
            if running.done():
                return running.result()
            raise t.cast(BaseException, interpreter.failure.exception())
        finally:
            self.interrupts.unbind()
            await interpreter.abandon()
            running.cancel()
            await asyncio.wait((running,))
            if interpreter.failure.done():  # perhaps as the last step ended
                interpreter.failure.exception()

    def _end_by_callback(self, loop: asyncio.AbstractEventLoop, context: dict[str, t.Any]) -> None:
        """End the engine where a callback fails: what it was to start would be waited for."""
        error, interpreter = context.get("exception"), self.interpreter
        if "handle" not in context or error is None:
            loop.default_exception_handler(context)
        elif not (interpreter.is_abandoned or interpreter.failure.done()):
            interpreter.failure.set_exception(error)


class _Work:
    def __init__(self, session: Session) -> None:
        self._session = session
        self._interpreter = session.interpreter
        self._limits = Limits()
        self._is_cancelled = False
        self._is_out_of_time = False

    def interrupt(self) -> None:
        """End the steps that run; at the second call, all at once."""
        if self._limits.reached is None:
            self._is_cancelled = True
            self._limits.end(CANCELLED)
        elif not self._interpreter.failure.done():
            self._interpreter.failure.set_exception(KeyboardInterrupt())

    async def to_end(self) -> RunResult:
        locks = self._session.workflow.locks
        async with self._interpreter.holding(locks, self._limits):
            return await self._to_end()

    async def _to_end(self) -> RunResult:
        session, recorder = self._session, self._session.recorder
        end = await self._run_steps()
        outputs, message = self._read_outputs(end)
        succeeded = not (end.failed or message or self._is_cancelled)
        self._limits = Limits()  # the handlers run; the next signal ends them
        handled = await self._run_handlers(end, "succeeded" if succeeded else "failed")
        status: RunEnd = "succeeded" if succeeded and handled else "failed"
        if self._is_cancelled:
            status, message = "cancelled", CANCELLED
        elif status == "failed":
            limit = TIME_LIMIT if self._is_out_of_time and not succeeded else None
            told = (limit, message, failure_text(session.workflow, recorder.results))
            message = "; ".join(filter(None, told))
        shown: Mapping[str, object] = {}
        if status == "succeeded":
            try:
                shown = await asyncio.to_thread(self._export, outputs)
            except ArtifactError as error:
                status, message = "failed", f"an output of the workflow: {error}"
        return RunResult(
            run_id=session.facts.id,
            workflow=session.workflow.name,
            status=status,
            steps=recorder.results,
            outputs=shown,
            folder=session.place.folder,
            started=session.started,
            finished=now(),
            message=recorder.mask(message),
        )

    async def _run_steps(self) -> ScopeEnd:
        session, workflow = self._session, self._session.workflow
        read = read_outside(workflow)
        with self._limits.within(workflow.timeout_s) as limits:
            view = View(session.facts, parameters=session.parameters)
            around = Around(view, limits).with_lane(workflow.max_parallel)
            end = await self._interpreter.run_scope(
                workflow.steps, StepPath(), around, read=read, shown=shown_steps(workflow)
            )
            self._is_out_of_time = limits.reached == OUT_OF_TIME
            return end

    def _read_outputs(self, end: ScopeEnd) -> tuple[Outputs, str | None]:
        if end.failed:
            return {}, None
        declared = self._session.workflow.outputs
        view = View(self._session.facts, self._session.parameters, end.outputs)
        try:
            outputs = dict(scope_outputs(declared, view))
        except VALUE_ERRORS as error:
            return {}, f"an output of the workflow: {error}"
        # A list of files is shown as such, not as the text that would travel.
        for output in declared:
            files = _files(output, view)
            if files is not None:
                outputs[output.name] = files
        return outputs, None

    def _export(self, outputs: Outputs) -> dict[str, object]:
        place = self._session.place
        with explain_writing(place.folder, "put the outputs there"):
            remove_tree(place.folder / OUTPUTS)  # of an earlier session
            return {
                name: export(
                    stored, place.store, place.folder / OUTPUTS / name, self._session.recorder
                )
                for name, stored in outputs.items()
            }

    async def _run_handlers(self, end: ScopeEnd, status: t.Literal["succeeded", "failed"]) -> bool:
        """Run the handlers that fit, side by side, and tell whether all of them succeeded."""
        workflow = self._session.workflow
        # The lists of a failed foreach are for steps that depend on its failure or completion.
        outputs = {
            step.name: end.outputs[step.name]
            for step in workflow.steps
            if step.foreach is None or end.states[step.name] not in FAILED
        }
        facts = replace(self._session.facts, status=status)
        around = Around(
            View(facts, self._session.parameters, outputs), self._limits, since=end.since
        ).with_lane(workflow.max_parallel)
        wanted = ("any", "success" if status == "succeeded" else "failure")
        ends = await asyncio.gather(
            *(
                self._run_handler(handler, around, fits=handler.on in wanted)
                for handler in workflow.exit_handlers
            )
        )
        return all(end.state not in FAILED for end in ends)

    async def _run_handler(self, handler: ExitHandler, around: Around, *, fits: bool) -> End:
        path = StepPath((PathPart(HANDLER_PREFIX + handler.name),))
        # A handler has a place in the results like a group's.
        as_step = Step(name=handler.name, action=Group(steps=handler.steps))
        instance = Instance(as_step, path, ())
        if not fits:
            return self._interpreter.end_at_once(instance, "skipped", f"it is for {handler.on}")
        return await self._interpreter.observe(instance, self._run_inside(handler, path, around))

    async def _run_inside(self, handler: ExitHandler, path: StepPath, around: Around) -> End:
        read = read_results(handler.steps, ())
        end = await self._interpreter.run_scope(handler.steps, path, around, read=read, shown=())
        if end.failed:
            last = cut_off(around.limits, f"failed inside: {', '.join(end.failed)}")
            return End(bad_end(last.kind), message=last.message)
        return End("succeeded")


def _files(output: Output, view: View) -> Gathered | None:
    """Return the list of files that an output is, None if it is none."""
    try:
        stored = resolve(output.value, view) if isinstance(output.value, StepRef) else None
    except MissingOutputError:  # its default stands for it
        return None
    if isinstance(stored, Gathered) and any(item and is_file(item.type) for item in stored.items):
        return stored
    return None


def remove_tree(folder: Path) -> None:
    """Remove a folder with all that is in it, if it is there."""
    with contextlib.suppress(FileNotFoundError):
        shutil.rmtree(folder)


def export(stored: Stored, store: ObjectStore, folder: Path, recorder: Recorder) -> object:
    """Return an output for people and JSON; a file as the path of a copy in a folder."""
    if isinstance(stored, Gathered):
        return [
            None if item is None else export(item, store, folder / str(index), recorder)
            for index, item in enumerate(stored.items)
        ]
    if not is_file(stored.type):
        return recorder.show(stored)
    target = folder / parse_reference(stored.text).name
    store.fetch(stored.text, target)
    return str(target)
