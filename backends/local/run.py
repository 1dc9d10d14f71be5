"""A run of a workflow from its start to its exit handlers."""

from __future__ import annotations

import os
import tempfile
import threading
import typing as t
import uuid
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

from couler.backends.local.interpret import End, Instance, Interpreter, ScopeEnd
from couler.backends.local.leaf import CANCELLED, Limits, Place
from couler.backends.local.outputs import read_results, scope_outputs
from couler.backends.local.packages import require_packages
from couler.backends.local.parameters import bind_parameters
from couler.backends.local.result import Event, RunResult, RunStatus
from couler.backends.local.secrets import Entries, require_entries, secret_values
from couler.backends.local.signals import stop_on_signals
from couler.backends.local.store import Store
from couler.backends.local.values import VALUE_ERRORS, Outputs, RunFacts, Single, View
from couler.errors import ConfigurationError, ParameterError
from couler.ir.paths import PathPart, StepPath
from couler.ir.values import Value
from couler.ir.walk import references
from couler.ir.wire import is_file
from couler.ir.workflow import ExitHandler, Group, Step, Workflow

HANDLER_PREFIX = "exit:"
"""Begins the path of an exit handler; no step's name has a colon."""


def run(
    workflow: Workflow,
    *,
    parameters: Mapping[str, object] | None = None,
    work_dir: Path | None = None,
    on_event: Callable[[Event], None] | None = None,
    environ: Mapping[str, str] | None = None,
) -> RunResult:
    """Run a workflow on this machine, one step after the other.

    Containers and scripts run as processes; their images are not used. The first interrupt
    (SIGINT, SIGTERM, SIGHUP) ends the running step, runs the exit handlers and makes the status
    `cancelled`; a second one raises `KeyboardInterrupt`.

    Parameters
    ----------
    workflow
        A verified workflow without defaults (`resolve_defaults`), of features that
        `LocalBackend` has.
    parameters
        Values of its parameters; text is read as the declared type.
    work_dir
        Folder for logs and files, new or empty; None for a new one for temporary files.
    on_event
        Told of each step's start and end.
    environ
        Environment of the processes, and where secrets are looked for; None for that of this
        process. Its variables `COULER_*` are not passed on.

    Raises
    ------
    ParameterError
        The parameters do not fit.
    ConfigurationError
        A secret or a package is missing, or the folder is not empty.
    """
    environ = os.environ if environ is None else environ
    entries = Entries(environ)
    bound = bind_parameters(workflow.parameters, parameters or {})
    _require_files(bound)
    require_packages(workflow)
    require_entries(workflow, entries)
    folder = _make_folder(workflow, work_dir)
    place = Place(
        folder=folder,
        store=Store(folder / "store"),
        entries=entries,
        environ={name: value for name, value in environ.items() if not name.startswith("COULER_")},
        secrets=tuple(secret_values(workflow, entries)),
    )
    _store_files(bound, place.store)
    return _Run(workflow, bound, place, on_event or _ignore).to_end()


class _Run:
    def __init__(
        self,
        workflow: Workflow,
        parameters: Mapping[str, Single],
        place: Place,
        on_event: Callable[[Event], None],
    ) -> None:
        self.workflow = workflow
        self.place = place
        self.stop = threading.Event()
        self.started = datetime.now(UTC)
        self.interpreter = Interpreter(place, on_event)
        facts = RunFacts(
            id=f"{workflow.name}-{uuid.uuid4().hex[:8]}",
            logical_date=self.started.isoformat(timespec="seconds"),
        )
        self.view = View(facts, parameters=parameters)

    def to_end(self) -> RunResult:
        with stop_on_signals(lambda: self.stop):
            end = self._run_steps()
            outputs, message = self._read_outputs(end)
            is_cancelled = self.stop.is_set()
            succeeded = not (end.failed or message or is_cancelled)
            self.stop = threading.Event()  # the handlers run; the next signal ends them
            handled = self._run_handlers(end, "succeeded" if succeeded else "failed")
            is_cancelled |= self.stop.is_set()
        status: RunStatus = "succeeded" if succeeded and handled else "failed"
        if is_cancelled:
            status, message = "cancelled", CANCELLED
        shown = self.interpreter.show
        return RunResult(
            run_id=self.view.run.id,
            workflow=self.workflow.name,
            status=status,
            steps=self.interpreter.results,
            outputs=(
                {name: shown(stored) for name, stored in outputs.items()}
                if status == "succeeded"
                else {}
            ),
            work_dir=self.place.folder,
            started=self.started,
            finished=datetime.now(UTC),
            message=message,
            notes=tuple(_notes(self.workflow)),
        )

    def _run_steps(self) -> ScopeEnd:
        workflow = self.workflow
        limits = Limits(self.stop).within(workflow.timeout_s)
        read = read_results(workflow.steps, _outer_values(workflow))
        return self.interpreter.run_scope(workflow.steps, StepPath(), self.view, limits, read=read)

    def _read_outputs(self, end: ScopeEnd) -> tuple[Outputs, str | None]:
        if end.failed:
            return {}, f"failed: {', '.join(end.failed)}"
        try:
            return scope_outputs(self.workflow.outputs, replace(self.view, steps=end.outputs)), None
        except VALUE_ERRORS as error:
            return {}, f"an output of the workflow: {error}"

    def _run_handlers(self, end: ScopeEnd, status: t.Literal["succeeded", "failed"]) -> bool:
        """Run the handlers that fit and tell whether all of them succeeded."""
        # The lists of a failed foreach are for steps that depend on its failure or completion.
        outputs = {
            step.name: end.outputs[step.name]
            for step in self.workflow.steps
            if step.foreach is None or end.states[step.name] != "failed"
        }
        view = replace(self.view, run=replace(self.view.run, status=status), steps=outputs)
        wanted = ("any", "success" if status == "succeeded" else "failure")
        ends = [
            self._run_handler(handler, view, fits=handler.on in wanted)
            for handler in self.workflow.exit_handlers
        ]
        return all(end.state != "failed" for end in ends)

    def _run_handler(self, handler: ExitHandler, view: View, *, fits: bool) -> End:
        path = StepPath((PathPart(HANDLER_PREFIX + handler.name),))
        # A handler has a place in the results like a group's.
        as_step = Step(name=handler.name, action=Group(steps=handler.steps))
        instance = Instance(as_step, path, ())
        if not fits:
            return self.interpreter.skip(instance, f"it is for {handler.on}")
        limits = Limits(self.stop)
        read = read_results(handler.steps, ())

        def run_steps() -> End:
            end = self.interpreter.run_scope(handler.steps, path, view, limits, read=read)
            if end.failed:
                return End("failed", message=f"failed inside: {', '.join(end.failed)}")
            return End("succeeded")

        return self.interpreter.observe(instance, run_steps)


def _outer_values(workflow: Workflow) -> Iterator[Value | None]:
    """Yield what reads the workflow's steps from outside their scope."""
    for output in workflow.outputs:
        yield output.value
    for handler in workflow.exit_handlers:
        for step in handler.steps:
            yield from references(step)


def _make_folder(workflow: Workflow, work_dir: Path | None) -> Path:
    if work_dir is None:
        return Path(tempfile.mkdtemp(prefix=f"couler-{workflow.name}-"))
    work_dir.mkdir(parents=True, exist_ok=True)
    if any(work_dir.iterdir()):
        raise ConfigurationError(f"{work_dir} is not empty; a run needs a folder of its own")
    return work_dir.resolve()


def _require_files(parameters: Mapping[str, Single]) -> None:
    for name, value in parameters.items():
        path = Path(value.text) if is_file(value.type) else None
        if path is not None and not (
            path.is_dir() if value.type == "directory" else path.is_file()
        ):
            raise ParameterError(f'parameter "{name}": there is no {value.type} {value.text!r}')


def _store_files(parameters: dict[str, Single], store: Store) -> None:
    """Put the files that parameters name into the store, as the values that travel."""
    for name, value in parameters.items():
        if is_file(value.type):
            location = f"@parameters/{name}"
            store.keep(Path(value.text), location)
            parameters[name] = Single(location, value.type)


def _notes(workflow: Workflow) -> Iterator[str]:
    if workflow.schedule is not None:
        yield "The schedule has no effect here: the workflow ran once, at once."


def _ignore(_event: Event) -> None:
    pass
