"""`couler retry`: a run goes on where it ended."""

from __future__ import annotations

from pathlib import Path

import click

from couler import stages
from couler.backends.base import RunOptions
from couler.cli._again import Again
from couler.cli._carry_out import carry_out
from couler.cli._cluster import cluster_option, machines_of
from couler.cli._elsewhere import retries_option
from couler.cli._events import events_option
from couler.cli._load import FileType, Source, load
from couler.cli._pipelines import PassFlags, passes_of, passes_option
from couler.cli._planned import say_if_not_run, say_what_runs, show_plan
from couler.cli._progress import Tell
from couler.cli._retry_elsewhere import Asked, Shown, retry_elsewhere, target_of_run
from couler.cli._running import home_flag, param_option, parse_params, run_options
from couler.cli._runs import FORMATS, history_of, open_home, run_argument
from couler.cli._session import Session, pass_session, session_options
from couler.cli._storages import storage_option, storages_of
from couler.ir.serialize import read_json
from couler.stages.running import RUNNER


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
