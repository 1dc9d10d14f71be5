"""The local engine: this machine, without a cluster."""

from __future__ import annotations

import os
import typing as t
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace

from couler.backends.base import (
    Artifact,
    ArtifactFile,
    Capabilities,
    RunOptions,
    Target,
    choose_format,
    choose_profile,
    ignored_features,
    ignored_notes,
    unsupported_uses,
)
from couler.backends.local.capabilities import CAPABILITIES, IN_CONTAINERS
from couler.backends.local.capacity import Capacity, check_needs
from couler.errors import (
    EngineOptionError,
    InvalidWorkflowError,
    RunNotFoundError,
    UnsupportedFeatureError,
)
from couler.ir.defaults import local_form, resolve_defaults, use_local_forms
from couler.ir.diagnostics import Diagnostic, did_you_mean
from couler.ir.glue import with_scripts
from couler.ir.serialize import read_json, write_json, write_yaml
from couler.ir.source_map import NO_CHANGE, SourceMap
from couler.ir.walk import steps_by_path
from couler.ir.workflow import Step, Workflow

if t.TYPE_CHECKING:
    from couler.backends.local.surroundings import Surroundings
    from couler.ir.semantics.replay import PlannedStep
    from couler.locations.secrets import GivenSecrets
    from couler.state.database import Database
    from couler.state.records import RunRecord
    from couler.state.results import Event, RunResult

OVERRIDE_CODE = "CLR362"
"""Settings for this engine, which has none."""


class LocalBackend:
    """Runs workflows on this machine; what it compiles is the workflow itself, for `couler run`."""

    name = "local"
    profiles: tuple[str, ...] = ("local",)
    formats: tuple[str, ...] = ("yaml", "json")

    def capabilities(self, target: Target) -> Capabilities:
        """Return what the engine can do; every feature has an entry."""
        runtime = self._options(target).runtime
        return CAPABILITIES if runtime == "process" else IN_CONTAINERS

    def check(self, workflow: Workflow, target: Target) -> Iterator[Diagnostic]:
        """Yield what this engine refuses beyond features: paths, programs, settings of its own."""
        from couler.backends.local.runtimes import make_runtime

        options = self._options(target)
        jobs, workflow = workflow, use_local_forms(workflow)
        yield from self._check_forms(jobs, workflow, target)
        yield from make_runtime(options.runtime, os.environ).check(workflow)
        yield from check_needs(workflow, Capacity.choose(options, workflow))
        if self.name in workflow.engine:
            yield _refuse_override("the workflow", None)
        for path, step in steps_by_path(workflow):
            if self.name in step.engine:
                yield _refuse_override(f'step "{path}"', step, path)

    def _check_forms(
        self, jobs: Workflow, processes: Workflow, target: Target
    ) -> Iterator[Diagnostic]:
        """Yield what local forms ask for that the engine lacks; as jobs they did not show it."""
        if jobs is processes:
            return
        paths = {path for path, step in steps_by_path(jobs) if local_form(step) is not None}
        for diagnostic in unsupported_uses(processes, self, target, {}):
            if diagnostic.step in paths:
                yield diagnostic

    def compile(self, workflow: Workflow, target: Target, *, format: str = "yaml") -> Artifact:
        """Return the workflow as a file that `couler run` takes."""
        self._options(target)
        write = {"yaml": write_yaml, "json": _write_json}[choose_format(self, format)]
        file = ArtifactFile(f"{workflow.name}.{format}", write(workflow))
        return Artifact(self.name, (file,))

    def run(
        self,
        workflow: Workflow,
        *,
        parameters: Mapping[str, object] | None = None,
        options: RunOptions | None = None,
        on_event: Callable[[Event], None] | None = None,
        environ: Mapping[str, str] | None = None,
        program: str | None = None,
        secrets: GivenSecrets | None = None,
        source_map: SourceMap | None = None,
    ) -> RunResult:
        """Run a verified workflow on this machine and return how it ended."""
        from couler.backends.local.run import begin

        around = _surroundings(options, on_event, environ, secrets)
        workflow = self._accept(workflow, around.options)
        result = begin(
            *(workflow, parameters or {}, around),
            program=program,
            source_map=source_map or NO_CHANGE,
        )
        return self._with_notes(result, workflow, around.options)

    def retry(
        self,
        run: str,
        *,
        workflow: Workflow | None = None,
        parameters: Mapping[str, object] | None = None,
        options: RunOptions | None = None,
        on_event: Callable[[Event], None] | None = None,
        environ: Mapping[str, str] | None = None,
        secrets: GivenSecrets | None = None,
        source_map: SourceMap | None = None,
        from_step: str | None = None,
    ) -> RunResult:
        """Take up a run again: what failed, what was cut off, what has changed."""
        from couler.backends.local.run import take_up
        from couler.backends.local.signals import listen
        from couler.state.database import open_database

        around = _surroundings(options, on_event, environ, secrets)
        with listen() as interrupts, open_database(around.home.database_url) as database:
            record, recorded = _find(database, run)
            wanted = self._accept(recorded if workflow is None else workflow, around.options)
            names = _recorded_map(database, record) if workflow is None else source_map
            result = take_up(
                *(record, wanted, parameters or {}, around, database, interrupts),
                source_map=names or NO_CHANGE,
                from_step=from_step,
            )
        return self._with_notes(result, wanted, around.options)

    def plan_retry(
        self,
        run: str,
        *,
        workflow: Workflow | None = None,
        parameters: Mapping[str, object] | None = None,
        options: RunOptions | None = None,
        environ: Mapping[str, str] | None = None,
        secrets: GivenSecrets | None = None,
        source_map: SourceMap | None = None,
        from_step: str | None = None,
    ) -> tuple[PlannedStep, ...]:
        """Return what `retry` would do with each step, without doing it."""
        from couler.backends.local.run import plan
        from couler.state.database import open_database

        around = _surroundings(options, None, environ, secrets)
        with open_database(around.home.database_url) as database:
            record, recorded = _find(database, run)
            wanted = self._accept(recorded if workflow is None else workflow, around.options)
            names = _recorded_map(database, record) if workflow is None else source_map
            return plan(
                *(record, wanted, parameters or {}, around, database),
                source_map=names or NO_CHANGE,
                from_step=from_step,
            )

    def cancel(
        self,
        run: str,
        *,
        options: RunOptions | None = None,
        environ: Mapping[str, str] | None = None,
    ) -> str:
        """Cancel a run and return how it stands then, `running` if it takes long to end."""
        from couler.backends.local.cancelling import cancel
        from couler.state.database import open_database

        around = _surroundings(options, None, environ)
        with open_database(around.home.database_url) as database:
            record, _ = _find(database, run)
            return cancel(record, around, database)

    def _accept(self, workflow: Workflow, options: RunOptions) -> Workflow:
        """Return a workflow without defaults and jobs, if it can run here."""
        workflow = resolve_defaults(workflow)
        target = Target(options=options.as_json())
        missing = tuple(unsupported_uses(workflow, self, target, {}))
        if missing:
            raise UnsupportedFeatureError(f'local cannot run "{workflow.name}"', missing)
        found = tuple(self.check(workflow, target))
        if any(problem.severity == "error" for problem in found):
            raise InvalidWorkflowError(f'local cannot run "{workflow.name}"', found)
        return with_scripts(use_local_forms(workflow))

    def _with_notes(self, result: RunResult, workflow: Workflow, options: RunOptions) -> RunResult:
        ignored = ignored_features(workflow, self, Target(options=options.as_json()))
        return replace(result, notes=ignored_notes(self.name, ignored))

    def _options(self, target: Target) -> RunOptions:
        """Return what the options of a target say of a run."""
        choose_profile(self, target)
        known = RunOptions().as_json(with_defaults=True)
        unknown = [name for name in target.options if name not in known]
        if unknown:
            raise EngineOptionError(
                f"local has no option {unknown[0]!r}; it has: {', '.join(known)}."
                f"{did_you_mean(unknown[0], known)}"
            )
        return RunOptions(**target.options)


def _surroundings(
    options: RunOptions | None,
    on_event: Callable[[Event], None] | None,
    environ: Mapping[str, str] | None,
    secrets: GivenSecrets | None = None,
) -> Surroundings:
    from couler.backends.local.surroundings import Surroundings

    return Surroundings(
        options or RunOptions(),
        os.environ if environ is None else environ,
        on_event or _ignore,
        secrets or {},
    )


def _find(database: Database, text: str) -> tuple[RunRecord, Workflow]:
    from couler.state.runs import find_run, workflow_of

    record = find_run(database, text)
    if record.engine != LocalBackend.name:
        raise RunNotFoundError(f"{record.id} ran on {record.engine}, not on this machine")
    return record, read_json(workflow_of(database, record.id))


def _recorded_map(database: Database, run: RunRecord) -> SourceMap:
    from couler.state.source_maps import source_map_of

    return source_map_of(database, run.id)


def _ignore(_event: Event) -> None:
    """Nobody wants to know."""


def _write_json(workflow: Workflow) -> str:
    return write_json(workflow) + "\n"


def _refuse_override(place: str, step: Step | None, path: str | None = None) -> Diagnostic:
    return Diagnostic(
        OVERRIDE_CODE,
        f"{place} has settings for the engine local, but there are none. Remove them",
        step=path,
        source=None if step is None else step.source,
    )
