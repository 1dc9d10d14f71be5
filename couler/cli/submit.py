"""`couler submit`: a workflow on an engine elsewhere."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path

import click

from couler import stages
from couler.cli._again import Again
from couler.cli._elsewhere import ask, report_begun, retries_option, watch
from couler.cli._events import events_option
from couler.cli._options import (
    PassFlags,
    cluster_option,
    engine_option,
    engine_settings_option,
    engine_version_option,
    file_argument,
    machines_of,
    namespace_option,
    passes_of,
    passes_option,
    profile_option,
    storage_option,
    target_option,
)
from couler.cli._targets import connect_to
from couler.cli.load import Source, load
from couler.cli.running import home_flag, param_option, parse_params
from couler.cli.runs import FORMATS, home_option, open_home
from couler.cli.session import Session, pass_session, session_options


@click.command()
@file_argument
@engine_option
@target_option
@param_option
@click.option("--watch", "is_watched", is_flag=True, help="Show the run until it ends.")
@click.option(
    "--name",
    metavar="NAME",
    help="Name of the run; a run of that name that is there already is not doubled.",
)
@click.option(
    "--create-secrets",
    is_flag=True,
    help="Make or renew the secrets whose values the program gives, where the steps read them.",
)
@retries_option
@engine_version_option
@profile_option
@namespace_option
@engine_settings_option
@storage_option
@passes_option
@cluster_option
@home_option
@click.option("--format", "format_", type=click.Choice(FORMATS), help="How to report.")
@events_option
@session_options
@pass_session
def command(
    session: Session,
    file: Source,
    engine: str | None,
    target_name: str | None,
    params: tuple[str, ...],
    is_watched: bool,
    name: str | None,
    create_secrets: bool,
    retries: int | None,
    engine_version: str | None,
    profile: str | None,
    namespace: str | None,
    options: tuple[str, ...],
    storages: tuple[str, ...],
    passes: PassFlags,
    cluster_file: Path | None,
    home: Path | None,
    format_: str | None,
    events: str | None,
) -> None:
    """Run a workflow on an engine elsewhere.

    Prints the name of the run, by which `couler status`, `logs`, `cancel` and `retry` know it. With
    --watch the run is shown until it ends, and the command ends as `couler run` does; an interrupt
    ends the command, not the run.
    """
    if events is not None and not is_watched:
        raise click.UsageError("--events needs --watch: without it nobody follows the run")
    if retries is not None and not is_watched:
        raise click.UsageError("--retries needs --watch: without it nobody sees what fails")
    parameters = parse_params(params)
    format_ = session.settings.choose("format", format_, FORMATS)
    connection = connect_to(
        session,
        engine,
        target_name,
        profile=profile,
        engine_version=engine_version,
        namespace=namespace,
        options=options,
        storages=storages,
    )
    loaded = load(file)
    again = Again(home_flag(), file.written, is_elsewhere=True, with_file=passes.words)
    asked_at = datetime.now(UTC)
    with open_home(session, home) as (database, found):
        run = stages.submit(
            loaded,
            connection,
            database=database,
            home=found,
            environment=session.environment,
            parameters=parameters,
            passes=passes_of(session, passes, connection.name),
            name=name,
            program=None if file.path == "-" else str(Path(file.path).resolve()),
            create_secrets=create_secrets,
            cluster=machines_of(session, cluster_file, file),
            on_note=lambda note: session.info(f"note: {note}"),
        )
        if is_watched:
            watch(
                *(session, run, database, found),
                again=again,
                events=events,
                format_=format_,
                retries=retries,
            )
        if run.created < asked_at:
            run, fault = ask(session, run, database, found)
            if fault is not None:
                raise fault
    report_begun(session, run, again, format_)
