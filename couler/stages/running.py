"""From a workflow to a run on this machine, the only stage that starts processes."""

from __future__ import annotations

import typing as t
from collections.abc import Callable, Iterable, Mapping

from couler.backends import get_backend
from couler.backends.base import RunOptions, Target
from couler.cluster.model import Cluster
from couler.errors import EngineOptionError
from couler.ir.defaults import Storages
from couler.ir.workflow import Workflow
from couler.optimizers.base import Machines, Pass
from couler.stages.checks import AnyWorkflow, secrets_of
from couler.stages.planning import Plan, plan
from couler.state.results import Event as RunEvent, RunResult

if t.TYPE_CHECKING:
    from couler.ir.semantics.replay import PlannedStep
    from couler.ir.source_map import SourceMap
    from couler.stages.history import EarlierRuns

RUNNER = "local"
"""The engine of this machine."""


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
