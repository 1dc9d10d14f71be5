"""From a workflow to a schedule that an engine elsewhere keeps."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping

from couler.backends.remote import Connection, Scheduled
from couler.cluster.model import Cluster
from couler.errors import DefinitionError
from couler.ir.parameters import parameter_texts, with_values
from couler.optimizers.base import Machines, Pass
from couler.stages.artifacts import compile
from couler.stages.checks import AnyWorkflow, as_ir
from couler.stages.planning import plan
from couler.stages.programs import Loaded
from couler.stages.submitting import put_secrets


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
