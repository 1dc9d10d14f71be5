"""From a workflow to a run on this machine, the only stage that starts processes."""

from __future__ import annotations

import typing as t
from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import datetime
from pathlib import Path

from couler.errors import EngineOptionError
from couler.ir.paths import StepPath
from couler.ir.workflow import Workflow
from couler.optimizers.base import Pass
from couler.stages.planning import plan
from couler.stages.workflows import AnyWorkflow

RUNNER = "local"
"""The engine of this machine."""


class RunEvent(t.Protocol):
    """A step's instance has started, or has ended."""

    @property
    def kind(self) -> t.Literal["started", "finished"]:
        """Which of the two."""
        ...

    @property
    def path(self) -> StepPath:
        """Place of the instance."""
        ...

    @property
    def status(self) -> str | None:
        """How it ended; None at the start."""
        ...

    @property
    def message(self) -> str | None:
        """Why it failed or did not run."""
        ...


class StepResult(t.Protocol):
    """How a step's instance ended."""

    @property
    def status(self) -> str:
        """Its state, as in docs/semantics.md."""
        ...

    @property
    def message(self) -> str | None:
        """Why it failed or did not run."""
        ...

    @property
    def log(self) -> Path | None:
        """What its process wrote."""
        ...


class RunResult(t.Protocol):
    """How a run ended."""

    @property
    def run_id(self) -> str:
        """Name of the run."""
        ...

    @property
    def status(self) -> t.Literal["succeeded", "failed", "cancelled"]:
        """`cancelled` if it was interrupted."""
        ...

    @property
    def steps(self) -> Mapping[str, StepResult]:
        """What ended, by the text of its path, in the order in which it ended."""
        ...

    @property
    def outputs(self) -> Mapping[str, t.Any]:
        """Outputs of the workflow."""
        ...

    @property
    def work_dir(self) -> Path:
        """Folder with the run's logs and files."""
        ...

    @property
    def started(self) -> datetime:
        """When it started, in UTC."""
        ...

    @property
    def finished(self) -> datetime:
        """When it ended, in UTC."""
        ...

    @property
    def message(self) -> str | None:
        """Why the run failed, where no step tells it."""
        ...

    @property
    def notes(self) -> Sequence[str]:
        """What of the workflow had no effect in this run, one sentence each."""
        ...

    def to_json(self) -> dict[str, t.Any]:
        """Return the result as JSON, with its `schema_version`."""
        ...


@t.runtime_checkable
class Runner(t.Protocol):
    """A backend that runs workflows on this machine."""

    def run(
        self,
        workflow: Workflow,
        *,
        parameters: Mapping[str, object] | None = None,
        work_dir: Path | None = None,
        on_event: Callable[[t.Any], None] | None = None,
    ) -> RunResult:
        """Run a verified workflow to its end."""
        ...


def run(
    workflow: AnyWorkflow,
    *,
    parameters: Mapping[str, object] | None = None,
    work_dir: Path | None = None,
    on_event: Callable[[RunEvent], None] | None = None,
    passes: Iterable[Pass | str] | None = None,
) -> RunResult:
    """Run a workflow on this machine, to its end.

    Parameters
    ----------
    workflow
        The workflow, of a program or as IR.
    parameters
        Values of its parameters; text is read as the declared type.
    work_dir
        Folder for logs and files, new or empty; None for a temporary one.
    on_event
        Told of each step's start and end.
    passes
        The passes in order, or their names; None for the default ones.

    Returns
    -------
    RunResult
        How the run ended; a run that failed raises nothing.

    Raises
    ------
    InvalidWorkflowError, UnsupportedFeatureError, EngineOptionError
        As `plan`.
    ParameterError
        The parameters do not fit.
    ConfigurationError
        A secret or a package is missing, or the folder is not empty.
    """
    planned = plan(workflow, engine=RUNNER, passes=passes)
    runner: object = planned.backend
    if not isinstance(runner, Runner):
        raise EngineOptionError(f"the engine {RUNNER} does not run workflows")
    return runner.run(planned.workflow, parameters=parameters, work_dir=work_dir, on_event=on_event)
