"""The local engine: this machine, without a cluster."""

from __future__ import annotations

import typing as t
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

from couler.backends.base import (
    Artifact,
    ArtifactFile,
    Capabilities,
    Target,
    choose_profile,
    unsupported_uses,
)
from couler.backends.local.capabilities import CAPABILITIES
from couler.backends.local.container import leads_out
from couler.errors import EngineOptionError, InvalidWorkflowError, UnsupportedFeatureError
from couler.ir.defaults import resolve_defaults
from couler.ir.diagnostics import Diagnostic, did_you_mean
from couler.ir.serialize import write_json, write_yaml
from couler.ir.walk import scopes
from couler.ir.workflow import Step, Workflow

if t.TYPE_CHECKING:
    from couler.backends.local.result import Event, RunResult

OUTSIDE_CODE = "CLR361"
"""A declared path lies outside the folder in which a process may write."""

OVERRIDE_CODE = "CLR362"
"""Settings for this engine, which has none."""


class LocalBackend:
    """Runs workflows on this machine; what it compiles is the workflow itself, for `couler run`."""

    name = "local"
    profiles: tuple[str, ...] = ("local",)

    def capabilities(self, target: Target) -> Capabilities:
        """Return what the engine can do; every feature has an entry."""
        choose_profile(self, target)
        return CAPABILITIES

    def check(self, workflow: Workflow, target: Target) -> Iterator[Diagnostic]:
        """Yield what this engine refuses beyond features: paths, and settings of its own."""
        self._check_target(target)
        if self.name in workflow.engine:
            yield _refuse_override("the workflow", None)
        for scope in scopes(workflow):
            for step in scope.steps:
                path = "/".join((*scope.path, step.name))
                yield from _check_paths(step, path)
                if self.name in step.engine:
                    yield _refuse_override(f'step "{path}"', step, path)

    def compile(self, workflow: Workflow, target: Target, *, format: str = "yaml") -> Artifact:
        """Return the workflow as a file that `couler run` takes.

        Parameters
        ----------
        workflow
            A verified workflow.
        target
            The profile `local`; there are no options.
        format
            `yaml` or `json`.

        Raises
        ------
        EngineOptionError
            The format, or an option of the target, is unknown.
        """
        self._check_target(target)
        writers: dict[str, Callable[[Workflow], str]] = {"yaml": write_yaml, "json": _write_json}
        if format not in writers:
            raise EngineOptionError(
                f"local has no format {format!r}; it has: {', '.join(writers)}."
                f"{did_you_mean(format, writers)}"
            )
        file = ArtifactFile(f"{workflow.name}.{format}", writers[format](workflow))
        return Artifact(self.name, (file,))

    def run(
        self,
        workflow: Workflow,
        *,
        parameters: Mapping[str, object] | None = None,
        work_dir: Path | None = None,
        on_event: Callable[[Event], None] | None = None,
        environ: Mapping[str, str] | None = None,
    ) -> RunResult:
        """Run a verified workflow on this machine and return how it ended.

        A failed step is no error: the result tells of it. The arguments are those of
        `couler.backends.local.run.run`.

        Raises
        ------
        UnsupportedFeatureError, InvalidWorkflowError
            The engine cannot run the workflow; the exception lists every place.
        ParameterError, ConfigurationError
            As `run`.
        """
        from couler.backends.local.run import run

        workflow = resolve_defaults(workflow)
        target = Target()
        missing = tuple(unsupported_uses(workflow, self, target, {}))
        if missing:
            raise UnsupportedFeatureError(f'local cannot run "{workflow.name}"', missing)
        found = tuple(self.check(workflow, target))
        if found:
            raise InvalidWorkflowError(f'local cannot run "{workflow.name}"', found)
        return run(
            workflow,
            parameters=parameters,
            work_dir=work_dir,
            on_event=on_event,
            environ=environ,
        )

    def _check_target(self, target: Target) -> None:
        choose_profile(self, target)
        if target.options:
            raise EngineOptionError(
                f"local has no options, but was given: {', '.join(target.options)}."
            )


def _write_json(workflow: Workflow) -> str:
    return write_json(workflow) + "\n"


def _check_paths(step: Step, path: str) -> Iterator[Diagnostic]:
    declared = [(given.name, given.path) for given in step.inputs]
    declared += [(output.name, output.path) for output in step.outputs]
    for name, where in declared:
        if where is not None and leads_out(where):
            yield Diagnostic(
                OUTSIDE_CODE,
                f'step "{path}": "{name}" has the path {where}, but a process of '
                "this machine has only the folder COULER_WORK. Make the path relative to it",
                step=path,
                source=step.source,
            )


def _refuse_override(place: str, step: Step | None, path: str | None = None) -> Diagnostic:
    return Diagnostic(
        OVERRIDE_CODE,
        f"{place} has settings for the engine local, but there are none. Remove them",
        step=path,
        source=None if step is None else step.source,
    )
