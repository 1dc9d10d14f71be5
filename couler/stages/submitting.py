"""From a workflow to a run, or a schedule, on an engine elsewhere."""

from __future__ import annotations

import typing as t
from collections.abc import Callable, Iterable, Mapping

from couler.backends import get_backend
from couler.backends.base import choose_format
from couler.backends.remote import Connection, KeepsSecrets, Scheduled
from couler.cluster.model import Cluster
from couler.errors import DefinitionError, EngineOptionError
from couler.ir.parameters import parameter_texts, with_values
from couler.ir.serialize import read_json
from couler.ir.workflow import Workflow
from couler.optimizers.base import Machines, Pass
from couler.stages.artifacts import compile
from couler.stages.checks import AnyWorkflow, as_ir, secrets_of
from couler.stages.history import EarlierRuns, earlier_runs
from couler.stages.planning import plan
from couler.stages.programs import Loaded

# A program that only compiles loads no database: what needs one is imported where it is called.
if t.TYPE_CHECKING:
    from couler.control.restarting import Prepared
    from couler.state.database import Database
    from couler.state.home import Home
    from couler.state.records import RunRecord


def submit(
    workflow: AnyWorkflow,
    connection: Connection,
    *,
    database: Database,
    home: Home,
    environment: Mapping[str, str],
    parameters: Mapping[str, object] | None = None,
    passes: Iterable[Pass | str] | None = None,
    name: str | None = None,
    program: str | None = None,
    create_secrets: bool = False,
    on_note: Callable[[str], None] | None = None,
    cluster: Cluster | Machines | None = None,
) -> RunRecord:
    """Compile a workflow for an engine elsewhere and begin a run of it there.

    Parameters
    ----------
    workflow
        The workflow, of a program or as IR.
    connection
        The engine, and how it is reached.
    database, home
        Where the run is recorded.
    environment
        The variables of the environment, for credentials.
    parameters
        Values of its parameters; text is read as the declared type.
    passes
        The passes in order, or their texts, see `plan`; None for the default ones.
    name
        Name of the run; None for a new one. A run of that name which is there is not doubled.
    program
        The file that defines the workflow, for the record.
    create_secrets
        Make or renew the secrets whose values the program has, where the engine's steps read them.
    on_note
        Told of warnings and of what must exist where it runs, before it is begun.
    cluster
        The machines there, see `plan`.

    Returns
    -------
    RunRecord
        The run, which goes on.

    Raises
    ------
    InvalidWorkflowError, UnsupportedFeatureError, EngineOptionError
        As `plan`.
    ParameterError
        The parameters do not fit, or the name is none that engines take.
    ConfigurationError
        An extra or a credential is missing, or a field of the connection is wrong.
    StateError
        It cannot be recorded, or another run has the name.
    EngineError
        The engine refused or cannot be reached; the record says which.
    """
    from couler.control.submission import Order, check, submit as submit_order

    planned = plan(
        workflow,
        engine=connection.engine,
        target=connection.target,
        passes=passes,
        history=earlier_runs(database, home),
        cluster=cluster,
    )
    artifact = compile(planned, connection.engine, target=connection.target)
    for note in (*map(str, planned.diagnostics), *artifact.notes):
        if on_note is not None:
            on_note(note)
    order = Order(
        *(planned.workflow, artifact, connection, parameters or {}, name, program),
        source_map=planned.source_map,
    )
    if create_secrets:
        check(order, database, home)
        put_secrets(workflow, connection, environment)
    return submit_order(order, database, home, environment)


def put_secrets(
    workflow: AnyWorkflow, connection: Connection, environment: Mapping[str, str]
) -> None:
    """Make or renew the secrets whose values a program has, where the engine's steps read them."""
    from couler.control.connecting import connect

    known = secrets_of(workflow)
    if not known:
        return
    remote: object = connect(connection, environment)
    if not isinstance(remote, KeepsSecrets):
        raise EngineOptionError(
            f"{connection.engine}: secrets cannot be created through it. Create them where its "
            "steps run; `couler compile` names them"
        )
    remote.put_secrets(known)


def prepare_restart(
    run: RunRecord,
    *,
    database: Database,
    workflow: AnyWorkflow | None = None,
    parameters: Mapping[str, object] | None = None,
    passes: Iterable[Pass | str] | None = None,
    from_step: str | None = None,
    history: EarlierRuns | None = None,
    cluster: Cluster | Machines | None = None,
) -> Prepared:
    """Return what taking up a run of an engine elsewhere would do, without doing it.

    `couler.control.restarting.restart` does it.

    Parameters
    ----------
    run
        The run, which has ended.
    database
        Where it is recorded.
    workflow
        Its workflow where that has changed; None for the recorded one.
    parameters
        Values that take the place of those that it was started with.
    passes
        For a changed workflow: in order, or their names; None for the default ones.
    from_step
        Name or path of a step that runs again with all that comes after it.
    history, cluster
        For a changed workflow, as of `plan`.

    Raises
    ------
    InvalidWorkflowError, UnsupportedFeatureError, EngineOptionError
        As `plan`.
    ParameterError
        The parameters do not fit.
    StateError
        It is not known whether the engine has the run, or there is no such step.
    """
    from couler.control.connecting import recorded_connection
    from couler.control.restarting import Changes, kept_steps, prepare

    if workflow is None:
        return prepare(run, database, Changes(None, parameters, from_step))
    target = recorded_connection(run).target

    def kept(rewritten: Workflow) -> frozenset[str]:
        return kept_steps(run, database, Changes(rewritten, parameters, from_step))

    planned = plan(
        workflow,
        engine=run.engine,
        target=target,
        passes=passes,
        history=history,
        cluster=cluster,
        kept=kept,
    )
    changes = Changes(planned.workflow, parameters, from_step, planned.source_map)
    return prepare(run, database, changes)


def submit_again(
    run: RunRecord, *, database: Database, home: Home, environment: Mapping[str, str]
) -> RunRecord:
    """Submit a run again of which it is not known whether its engine has it, or that it refused.

    Nothing is doubled. The errors are those of `submit`.
    """
    from couler.control.connecting import recorded_connection
    from couler.control.submission import submit_again as submit_recorded
    from couler.state import workflow_of

    connection = recorded_connection(run)
    workflow = read_json(workflow_of(database, run.id))
    backend = get_backend(run.engine)
    artifact = backend.compile(workflow, connection.target, format=choose_format(backend, None))
    return submit_recorded(run, workflow, artifact, database, home, environment)


def schedule(
    workflow: AnyWorkflow,
    connection: Connection,
    *,
    environment: Mapping[str, str],
    parameters: Mapping[str, object] | None = None,
    passes: Iterable[Pass | str] | None = None,
    create_secrets: bool = False,
    on_note: Callable[[str], None] | None = None,
    before_put: Callable[[], None] | None = None,
    cluster: Cluster | Machines | None = None,
) -> Scheduled:
    """Compile a scheduled workflow for an engine elsewhere and put it in place there.

    To put it twice is to put it once; one that has changed takes the place of the former. One that
    is paused stays so.

    Parameters
    ----------
    workflow
        The workflow, of a program or as IR.
    connection
        The engine, and how it is reached.
    environment
        The variables of the environment, for credentials.
    parameters
        What its runs have in the place of the defaults; text is read as the declared type.
    passes
        The passes in order, or their texts, see `plan`; None for the default ones.
    create_secrets
        Make or renew the secrets whose values the program has, where the engine's steps read them.
    on_note
        Told of warnings and of what must exist where it runs, before it is put in place.
    before_put
        Called when nothing is wrong with the workflow, right before it is put in place.
    cluster
        The machines there, see `plan`.

    Returns
    -------
    Scheduled
        What the engine has.

    Raises
    ------
    DefinitionError
        The workflow has no schedule.
    InvalidWorkflowError, UnsupportedFeatureError, EngineOptionError
        As `plan`; or the engine keeps no schedules.
    ParameterError
        The parameters do not fit.
    ConfigurationError
        An extra or a credential is missing, or a field of the connection is wrong.
    EngineError
        The engine refused or cannot be reached.
    """
    from couler.control.scheduling import connect_schedules, put

    given = workflow if not parameters else _with_parameters(workflow, parameters)
    planned = plan(
        given,
        engine=connection.engine,
        target=connection.target,
        passes=passes,
        cluster=cluster,
    )
    if planned.workflow.schedule is None:
        raise DefinitionError(
            f'the workflow "{planned.workflow.name}" has no schedule. Give it one: '
            'couler.Workflow(..., schedule="0 3 * * *"), or submit it to run it now'
        )
    remote = connect_schedules(connection, environment)
    artifact = compile(planned, connection.engine, target=connection.target)
    for note in (*map(str, planned.diagnostics), *artifact.notes):
        if on_note is not None:
            on_note(note)
    if create_secrets:
        put_secrets(workflow, connection, environment)
    if before_put is not None:
        before_put()
    return put(remote, planned.workflow, artifact)


def _with_parameters(workflow: AnyWorkflow, given: Mapping[str, object]) -> Loaded:
    """Return a workflow that has values for the defaults of its parameters."""
    ir, diagnostics = as_ir(workflow)
    own = with_values(ir.parameters, parameter_texts(ir.parameters, given))
    return Loaded(ir.model_copy(update={"parameters": own}), diagnostics)
