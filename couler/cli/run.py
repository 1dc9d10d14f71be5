"""`couler run`: a workflow on this machine."""

from __future__ import annotations

from pathlib import Path

import click

from couler import stages
from couler.backends.base import RunOptions
from couler.cli._again import Again
from couler.cli._carry_out import carry_out
from couler.cli._events import events_option
from couler.cli._options import (
    PassFlags,
    cluster_option,
    file_argument,
    machines_of,
    passes_of,
    passes_option,
    storage_option,
    storages_of,
)
from couler.cli._planned import say_what_runs
from couler.cli._progress import Tell
from couler.cli.load import Source, load
from couler.cli.running import home_flag, param_option, parse_params, run_options
from couler.cli.runs import FORMATS, history_of, open_home
from couler.cli.session import Session, pass_session, session_options
from couler.stages.running import RUNNER


@click.command()
@file_argument
@param_option
@click.option("--resume", is_flag=True, help="Take up the latest run, if it has not succeeded.")
@run_options
@storage_option
@passes_option
@cluster_option
@click.option("--format", "format_", type=click.Choice(FORMATS), help="How to report the end.")
@events_option
@session_options
@pass_session
def command(
    session: Session,
    file: Source,
    params: tuple[str, ...],
    resume: bool,
    options: RunOptions,
    passes: PassFlags,
    cluster_file: Path | None,
    format_: str | None,
    events: str | None,
    storages: tuple[str, ...],
) -> None:
    """Run a workflow on this machine.

    The outputs of the workflow go to standard output, all else to standard error. Ends with 1
    if the run failed. The first interrupt ends the running steps and runs the exit handlers; the
    second ends at once. `couler retry` goes on where a run ended.
    """
    parameters = parse_params(params)
    format_ = session.settings.choose("format", format_, FORMATS)
    chosen = passes_of(session, passes)
    again = Again(home_flag(), file.written, with_file=passes.words)
    loaded = load(file)
    stated = storages_of(session, RUNNER, storages)
    planned = stages.plan_run(
        loaded,
        options=options,
        passes=chosen,
        storages=stated,
        history=history_of(session, options.home),
        cluster=machines_of(session, cluster_file, file),
    )
    earlier = _find_unfinished(session, loaded.name, options) if resume else None

    def start(tell: Tell) -> stages.RunResult:
        if earlier is not None:
            return stages.retry(
                earlier,
                workflow=loaded,
                parameters=parameters,
                options=options,
                on_event=tell,
                planned=planned,
            )
        return stages.run(
            loaded,
            parameters=parameters,
            options=options,
            on_event=tell,
            planned=planned,
            program=None if file.path == "-" else str(Path(file.path).resolve()),
        )

    if earlier is not None:
        what_runs = stages.plan_retry(
            earlier,
            workflow=loaded,
            parameters=parameters,
            options=options,
            planned=planned,
        )
        say_what_runs(session, earlier, what_runs)
    carry_out(
        *(session, planned.workflow, start),
        source_map=planned.source_map,
        again=again,
        events=events,
        format_=format_,
    )


def _find_unfinished(session: Session, workflow: str, options: RunOptions) -> str | None:
    """Return the latest run of a workflow if it has not succeeded, and say what is done."""
    from couler.state import list_runs, shown_status

    with open_home(session, options.home) as (database, _):
        latest = list_runs(database, workflow=workflow, limit=1)
    if not latest:
        session.info(f"there is no run of {workflow} yet: a new one")
        return None
    [run] = latest
    if run.status == "succeeded":
        session.info(f"{run.id} has succeeded: a new run")
        return None
    session.info(f"{run.id} ({shown_status(run)}) is taken up")
    return run.id
