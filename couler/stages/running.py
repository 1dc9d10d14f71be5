"""From a workflow to a run on this machine, the only stage that starts processes."""

from __future__ import annotations

import typing as t
from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import datetime
from pathlib import Path

from couler.backends import get_backend
from couler.backends.base import RunOptions, Target
from couler.cluster.model import Cluster
from couler.errors import EngineOptionError
from couler.ir.defaults import Storages
from couler.ir.walk import StepPath
from couler.ir.workflow import Workflow
from couler.optimizers.base import Machines, Pass
from couler.stages.checks import AnyWorkflow, secrets_of
from couler.stages.planning import Plan, plan

if t.TYPE_CHECKING:
    from couler.ir.source_map import SourceMap
    from couler.stages.history import EarlierRuns

RUNNER = "local"
"""The engine of this machine."""


class RunEvent(t.Protocol):
    """Something happened to a step's instance."""

    @property
    def kind(
        self,
    ) -> t.Literal["started", "finished", "reused", "retrying", "suspended", "evicted", "warned"]:
        """What happened.

        A step that is skipped, omitted or cached finishes without having started; a step that an
        earlier session of the run has ended is `reused`.
        """
        ...

    @property
    def path(self) -> StepPath:
        """Place of the instance."""
        ...

    @property
    def run(self) -> str:
        """Name of the run."""
        ...

    @property
    def status(self) -> str | None:
        """How it ended; None before."""
        ...

    @property
    def message(self) -> str | None:
        """Why it failed or did not run."""
        ...

    @property
    def log(self) -> Path | None:
        """Where its output is written, if it runs a process."""
        ...

    @property
    def attempt(self) -> int | None:
        """Number of the attempt that starts, waits or has ended; None for what is not tried."""
        ...

    @property
    def elapsed_s(self) -> float | None:
        """How long it took, where the engine tells; None before it ends."""
        ...


class StepResult(t.Protocol):
    """How a step's instance ended."""

    @property
    def status(self) -> str:
        """Its state, as in docs/semantics.md."""
        ...

    @property
    def outputs(self) -> Mapping[str, t.Any]:
        """Its outputs by name; files as the path where they are kept."""
        ...

    @property
    def message(self) -> str | None:
        """Why it failed or did not run."""
        ...

    @property
    def log(self) -> Path | None:
        """What its process wrote."""
        ...

    @property
    def exit_code(self) -> int | None:
        """Of the last attempt's process."""
        ...

    @property
    def attempts(self) -> int:
        """How often it was tried; 0 for what did not run, and for a whole."""
        ...

    @property
    def reused(self) -> bool:
        """Whether an earlier session of the run has ended it."""
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
        """What ended, by the text of its path, in the order in which it ended.

        A step that passes have given another place is found by its own path, too.
        """
        ...

    @property
    def outputs(self) -> Mapping[str, t.Any]:
        """Outputs of the workflow."""
        ...

    @property
    def folder(self) -> Path:
        """Folder with the run's logs and its outputs that are files."""
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
    def is_lost(self) -> bool:
        """Whether the engine has it no more, so that nothing of it can be retried."""
        ...

    @property
    def message(self) -> str | None:
        """Why the run failed, where no step tells it."""
        ...

    @property
    def notes(self) -> Sequence[str]:
        """What of the workflow had no effect in this run, one sentence each."""
        ...

    @property
    def source_map(self) -> SourceMap:
        """Where the steps of the program are that have another place in the run, or none."""
        ...

    def to_json(self) -> dict[str, t.Any]:
        """Return the result as JSON, with its `schema_version`."""
        ...


class PlannedStep(t.Protocol):
    """What a retry would do with a step that runs something."""

    @property
    def path(self) -> str:
        """Place of the instance; of the whole where its items or rounds are not known yet."""
        ...

    @property
    def verdict(self) -> t.Literal["reused", "cached", "runs", "skipped", "omitted"]:
        """What would become of it.

        `reused` is what an earlier session of the run has ended, `cached` what the cache has of
        another one. What runs is taken to succeed.
        """
        ...

    @property
    def reason(self) -> str | None:
        """Why, in words; None for what is reused."""
        ...


@t.runtime_checkable
class Runner(t.Protocol):
    """A backend that runs workflows on this machine."""

    def run(
        self,
        workflow: Workflow,
        *,
        parameters: Mapping[str, object] | None = None,
        options: RunOptions | None = None,
        on_event: Callable[[t.Any], None] | None = None,
        program: str | None = None,
        secrets: Mapping[str, Mapping[str, str]] | None = None,
        source_map: SourceMap | None = None,
    ) -> RunResult:
        """Run a verified workflow to its end."""
        ...

    def retry(
        self,
        run: str,
        *,
        workflow: Workflow | None = None,
        parameters: Mapping[str, object] | None = None,
        options: RunOptions | None = None,
        on_event: Callable[[t.Any], None] | None = None,
        secrets: Mapping[str, Mapping[str, str]] | None = None,
        source_map: SourceMap | None = None,
        from_step: str | None = None,
    ) -> RunResult:
        """Take up a run again, with its workflow or a verified one in its place."""
        ...

    def plan_retry(
        self,
        run: str,
        *,
        workflow: Workflow | None = None,
        parameters: Mapping[str, object] | None = None,
        options: RunOptions | None = None,
        secrets: Mapping[str, Mapping[str, str]] | None = None,
        source_map: SourceMap | None = None,
        from_step: str | None = None,
    ) -> tuple[PlannedStep, ...]:
        """Return what `retry` would do."""
        ...

    def cancel(self, run: str, *, options: RunOptions | None = None) -> str:
        """Cancel a run and return how it stands then."""
        ...


def run(
    workflow: AnyWorkflow,
    *,
    parameters: Mapping[str, object] | None = None,
    options: RunOptions | None = None,
    on_event: Callable[[RunEvent], None] | None = None,
    passes: Iterable[Pass | str] | None = None,
    program: str | None = None,
    storages: Storages | None = None,
    planned: Plan | None = None,
) -> RunResult:
    """Run a workflow on this machine, to its end.

    Parameters
    ----------
    workflow
        The workflow, of a program or as IR.
    parameters
        Values of its parameters; text is read as the declared type.
    options
        How to run: how many processes, where runs are kept, and so on.
    on_event
        Told of what happens to each step.
    passes
        The passes in order, or their texts, see `plan`; None for the default ones.
    program
        The file that defines the workflow, for the record.
    storages
        What programs need not say of where files are, see `Target`.
    planned
        The plan of the workflow, of the same options (`plan_run`), if there is one; passes and
        storages are in it.

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
        A secret or a package is missing.
    StateError
        What happens cannot be written down.
    """
    if planned is None:
        planned = plan_run(workflow, options=options, passes=passes, storages=storages)
    return _runner().run(
        planned.workflow,
        parameters=parameters,
        options=options,
        on_event=on_event,
        program=program,
        secrets=secrets_of(workflow),
        source_map=planned.source_map,
    )


def plan_run(
    workflow: AnyWorkflow,
    *,
    options: RunOptions | None = None,
    passes: Iterable[Pass | str] | None = None,
    storages: Storages | None = None,
    history: EarlierRuns | None = None,
    cluster: Cluster | Machines | None = None,
) -> Plan:
    """Return the plan of a run on this machine; the arguments are those of `run` and `plan`."""
    target = Target(options=(options or RunOptions()).as_json(), storages=storages or {})
    return plan(
        workflow, engine=RUNNER, target=target, passes=passes, history=history, cluster=cluster
    )


def retry(
    run: str,
    *,
    workflow: AnyWorkflow | None = None,
    parameters: Mapping[str, object] | None = None,
    options: RunOptions | None = None,
    on_event: Callable[[RunEvent], None] | None = None,
    passes: Iterable[Pass | str] | None = None,
    storages: Storages | None = None,
    planned: Plan | None = None,
    from_step: str | None = None,
) -> RunResult:
    """Take up a run of this machine again: what failed, what was cut off, what has changed.

    Steps that succeeded are not run again, unless their code, definition or inputs have changed,
    or something that they depend on runs.

    Parameters
    ----------
    run
        Its id, a beginning of it that no other has, or `latest`.
    workflow
        Its workflow where that has changed; None for the recorded one.
    parameters
        Values that take the place of those that it was started with.
    options, on_event, passes, storages, planned
        As in `run`; passes, storages and the plan are for a changed workflow.
    from_step
        Name or path of a step that runs again with all that comes after it, whatever became of it.
        A path without an item or a round stands for all of them.

    Raises
    ------
    RunNotFoundError
        There is no such run.
    RunBusyError
        Another process works on it.
    InvalidWorkflowError, UnsupportedFeatureError, ParameterError, ConfigurationError, StateError
        As in `run`.
    """
    if planned is None and workflow is not None:
        planned = plan_run(workflow, options=options, passes=passes, storages=storages)
    return _runner().retry(
        run,
        workflow=None if planned is None else planned.workflow,
        parameters=parameters,
        options=options,
        on_event=on_event,
        secrets=secrets_of(workflow),
        source_map=None if planned is None else planned.source_map,
        from_step=from_step,
    )


def plan_retry(
    run: str,
    *,
    workflow: AnyWorkflow | None = None,
    parameters: Mapping[str, object] | None = None,
    options: RunOptions | None = None,
    passes: Iterable[Pass | str] | None = None,
    storages: Storages | None = None,
    planned: Plan | None = None,
    from_step: str | None = None,
) -> tuple[PlannedStep, ...]:
    """Return what `retry` would do with each step and why, without doing it.

    Nothing of what is kept of runs changes. The arguments and errors are those of `retry`.
    """
    if planned is None and workflow is not None:
        planned = plan_run(workflow, options=options, passes=passes, storages=storages)
    return _runner().plan_retry(
        run,
        workflow=None if planned is None else planned.workflow,
        parameters=parameters,
        options=options,
        secrets=secrets_of(workflow),
        source_map=None if planned is None else planned.source_map,
        from_step=from_step,
    )


def cancel(run: str, *, options: RunOptions | None = None) -> str:
    """Cancel a run of this machine.

    Parameters
    ----------
    run
        Its id, a beginning of it that no other has, or `latest`.
    options
        Where runs are kept.

    Returns
    -------
    str
        How it stands then: `cancelled`, what it was if it had ended before, or `running` if it
        takes long to end.

    Raises
    ------
    RunNotFoundError
        There is no such run.
    StateError
        It runs on another machine, or processes that a dead engine left do not end.
    """
    return _runner().cancel(run, options=options)


def _runner() -> Runner:
    runner: object = get_backend(RUNNER)
    if not isinstance(runner, Runner):
        raise EngineOptionError(f"the engine {RUNNER} does not run workflows")
    return runner
