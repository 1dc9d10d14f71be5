"""`couler retry`: a run of this machine, or of an engine elsewhere, is retried."""

from __future__ import annotations

import typing as t
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path

import click
from click.core import ParameterSource

from couler import stages
from couler.backends.base import RunOptions
from couler.cli._again import Again
from couler.cli._carry_out import carry_out
from couler.cli._elsewhere import ask, report_begun, retries_option, watch
from couler.cli._events import events_option
from couler.cli._options import (
    PassFlags,
    cluster_option,
    machines_of,
    passes_of,
    passes_option,
    storage_option,
    storages_of,
)
from couler.cli._planned import say_if_not_run, say_what_runs, show_plan
from couler.cli._progress import Tell
from couler.cli.load import FileType, Source, load
from couler.cli.running import home_flag, param_option, parse_params, run_options
from couler.cli.runs import FORMATS, history_of, open_home, run_argument
from couler.cli.session import Session, pass_session, session_options
from couler.errors import RunBusyError
from couler.ir.serialize import read_json
from couler.optimizers.base import Machines, Pass
from couler.stages.running import RUNNER

if t.TYPE_CHECKING:
    from couler.state import Database, Home, RunRecord


@click.command()
@run_argument
@click.option(
    "--file",
    type=FileType(),
    metavar="FILE",
    help="The workflow as it is now; by default that which the run has had.",
)
@param_option
@click.option(
    "--plan", "plan_only", is_flag=True, help="Show what would run and why, change nothing."
)
@click.option(
    "--from",
    "from_step",
    metavar="STEP",
    help="A step, by name or path, that runs again with all that comes after it.",
)
@click.option(
    "--watch",
    "is_watched",
    is_flag=True,
    help="Show a run elsewhere until it ends; one of this machine is always shown.",
)
@retries_option
@run_options
@storage_option
@passes_option
@cluster_option
@click.option("--format", "format_", type=click.Choice(FORMATS), help="How to report.")
@events_option
@session_options
@pass_session
def command(
    session: Session,
    run: str,
    file: Source | None,
    params: tuple[str, ...],
    plan_only: bool,
    from_step: str | None,
    is_watched: bool,
    retries: int | None,
    options: RunOptions,
    passes: PassFlags,
    cluster_file: Path | None,
    format_: str | None,
    events: str | None,
    storages: tuple[str, ...],
) -> None:
    """Go on with a run where it ended.

    What has succeeded is not run again, unless its code, its definition or its inputs have
    changed, or something that it depends on runs. RUN is the name of a run, a beginning of it that
    no other has, or latest. A run of an engine elsewhere is taken up there: its name is printed,
    and with --watch it is shown until it ends.
    """
    parameters = parse_params(params)
    format_ = session.settings.choose("format", format_, FORMATS)
    if passes and file is None:
        raise click.UsageError(
            "--pipeline, --pass and --no-pass are for a changed workflow: give --file with them. "
            "What a run has had went through its passes when it began"
        )
    loaded = None if file is None else load(file)
    from couler.state import find_run, source_map_of, workflow_of

    with open_home(session, options.home) as (database, place):
        record = find_run(database, run)
        # They are for a workflow that takes the place of the recorded one, which has had its own.
        chosen = None
        program = record.program if file is None else file.written
        if loaded is not None:
            chosen = passes_of(session, passes, target_of_run(record))
        if record.target is not None:
            if (is_watched or events or retries is not None) and plan_only:
                raise click.UsageError("--plan changes nothing, so there is nothing to watch")
            retry_elsewhere(
                *(session, record, database, place),
                Asked(
                    loaded, parameters, chosen, from_step, machines_of(session, cluster_file, file)
                ),
                Shown(
                    format_,
                    Again(
                        home_flag(), file.written if file else record.program, True, passes.words
                    ),
                    is_watched,
                    events,
                    retries,
                ),
                plan_only=plan_only,
            )
            return
        recorded = workflow_of(database, record.id)
        names = source_map_of(database, record.id)
    stated = storages_of(session, RUNNER, storages)
    changed = None
    if loaded is not None:
        changed = stages.plan_run(
            loaded,
            options=options,
            passes=chosen,
            storages=stated,
            history=history_of(session, options.home),
            cluster=machines_of(session, cluster_file, file),
        )
        names = changed.source_map
    planned = stages.plan_retry(
        record.id,
        workflow=loaded,
        parameters=parameters,
        options=options,
        planned=changed,
        from_step=from_step,
    )
    say_if_not_run(session, from_step, planned, names)
    if plan_only:
        show_plan(session, record.id, planned, names, format_)
        return
    say_what_runs(session, record.id, planned)

    def start(tell: Tell) -> stages.RunResult:
        return stages.retry(
            record.id,
            workflow=loaded,
            parameters=parameters,
            options=options,
            on_event=tell,
            planned=changed,
            from_step=from_step,
        )

    again = Again(home_flag(), program, with_file=passes.words)
    carry_out(
        session,
        read_json(recorded) if changed is None else changed.workflow,
        start,
        source_map=names,
        again=again,
        events=events,
        format_=format_,
    )


_OF_HERE = ("jobs", "cpus", "memory", "gpus", "runtime", "no_cache", "storages")
"""Options that say how this machine runs workflows, or what a target says elsewhere."""


@dataclass(frozen=True, slots=True)
class Asked:
    """What of the run is to be other than it was, as `stages.prepare_restart` takes it."""

    workflow: stages.AnyWorkflow | None
    parameters: Mapping[str, object]
    passes: Iterable[Pass] | None
    from_step: str | None
    cluster: Machines


def _nowhere() -> None:
    """Describe no machines."""


_AS_IT_WAS = Asked(None, {}, None, None, _nowhere)


@dataclass(frozen=True, slots=True)
class Shown:
    """How the run is shown from then on."""

    format_: str
    again: Again
    is_watched: bool
    events: str | None
    retries: int | None


def retry_elsewhere(
    session: Session,
    run: RunRecord,
    database: Database,
    home: Home,
    asked: Asked,
    shown: Shown,
    *,
    plan_only: bool,
) -> None:
    """Take up a run, or show what that would do."""
    _refuse_options_of_here(run)
    if not shown.is_watched and (shown.events is not None or shown.retries is not None):
        raise click.UsageError("--events and --retries need --watch: without it nobody follows it")
    if run.place is None:
        if replace(asked, cluster=_nowhere) != _AS_IT_WAS or plan_only:
            raise click.UsageError(
                f"{run.id} has not begun, so there is nothing to plan or to change: `couler retry "
                f"{run.id}` submits it again, `couler submit` begins another"
            )
        begun: RunRecord | None = stages.submit_again(
            run, database=database, home=home, environment=session.environment
        )
    else:
        begun = _restart(session, run, database, home, asked, shown.format_, plan_only)
    if begun is None:
        return
    if shown.is_watched:
        watch(
            *(session, begun, database, home),
            again=shown.again,
            events=shown.events,
            format_=shown.format_,
            retries=shown.retries,
            is_restart=run.place is not None,
        )
    report_begun(session, begun, shown.again, shown.format_)


def target_of_run(run: RunRecord) -> str | None:
    """Return the name of the target that a run was submitted to, if it has one."""
    from couler.control.connecting import recorded_connection

    return None if run.target is None else recorded_connection(run).name


def _restart(
    session: Session,
    run: RunRecord,
    database: Database,
    home: Home,
    asked: Asked,
    format_: str,
    plan_only: bool,
) -> RunRecord | None:
    """Return the run that goes on; None if only its plan was to be shown, or nothing runs."""
    from couler.control.restarting import check, restart
    from couler.stages.history import earlier_runs

    run, fault = ask(session, run, database, home)
    if fault is not None:
        raise fault
    if run.status == "running":
        raise RunBusyError(f"{run.id} goes on; `couler cancel {run.id}` ends it")
    prepared = stages.prepare_restart(
        run,
        database=database,
        workflow=asked.workflow,
        parameters=asked.parameters,
        passes=asked.passes,
        from_step=asked.from_step,
        history=earlier_runs(database, home),
        cluster=asked.cluster,
    )
    say_if_not_run(session, asked.from_step, prepared.plan.steps, prepared.source_map)
    if plan_only:
        check(run, prepared, database, session.environment)
        show_plan(session, run.id, prepared.plan.steps, prepared.source_map, format_)
        return None
    say_what_runs(session, run.id, prepared.plan.steps)
    if not prepared.plan.again and not prepared.failed_around_steps:
        hint = "" if asked.from_step else "; --from STEP names what is"
        session.complain(f"{run.id}: nothing is to run again{hint}")
        click.get_current_context().exit(0 if run.status == "succeeded" else 1)
    return restart(run, prepared, database, home, session.environment)


def _refuse_options_of_here(run: RunRecord) -> None:
    context = click.get_current_context()
    for option in context.command.params:
        given = context.get_parameter_source(option.name or "")
        if option.name in _OF_HERE and given is ParameterSource.COMMANDLINE:
            raise click.UsageError(
                f"{option.opts[-1]} is for runs of this machine, and {run.id} is of {run.engine}"
            )
