"""Runs of engines elsewhere are taken up again."""

from __future__ import annotations

import typing as t
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace

import click
from click.core import ParameterSource

from couler import stages
from couler.cli._again import Again
from couler.cli._elsewhere import ask, report_begun, watch
from couler.cli._planned import say_if_not_run, say_what_runs, show_plan
from couler.cli._session import Session
from couler.errors import RunBusyError
from couler.optimizers.base import Machines, Pass

if t.TYPE_CHECKING:
    from couler.state import Database, Home, RunRecord

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
