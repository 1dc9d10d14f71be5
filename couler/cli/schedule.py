"""`couler schedule`: workflows that engines elsewhere run by themselves, at their times."""

from __future__ import annotations

import shlex
import typing as t
from collections.abc import Callable
from pathlib import Path

import click

from couler import stages
from couler.backends.remote import Connection, Scheduled, Scheduling
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
from couler.cli.format import aligned, echo_json, minute_text, time_text
from couler.cli.load import Source, load
from couler.cli.running import param_option, parse_params
from couler.cli.runs import FORMATS, format_option
from couler.cli.session import Session, pass_session, session_options
from couler.errors import InvalidWorkflowError

SCHEMA_VERSION = 1
"""Version of the JSON."""

_WANTS_A_VALUE = "CLR186"

_Command: t.TypeAlias = Callable[..., t.Any]


def _place_options(command: _Command) -> _Command:
    """Add the options that say which engine is asked."""
    for option in (namespace_option, target_option, engine_option):
        command = option(command)
    return command


_names = click.argument("names", nargs=-1, required=True, metavar="NAME...")


@click.group()
@session_options
def command() -> None:
    """Let engines elsewhere run workflows by their schedules.

    NAME is the name of a workflow. What is in place is asked from the engine; it is told of what
    was put there by this command or a submitter.
    """


@command.command()
@file_argument
@engine_option
@target_option
@param_option
@click.option(
    "--create-secrets",
    is_flag=True,
    help="Make or renew the secrets whose values the program gives, where the steps read them.",
)
@engine_version_option
@profile_option
@namespace_option
@engine_settings_option
@storage_option
@passes_option
@cluster_option
@format_option
@session_options
@pass_session
def put(
    session: Session,
    file: Source,
    engine: str | None,
    target_name: str | None,
    params: tuple[str, ...],
    create_secrets: bool,
    engine_version: str | None,
    profile: str | None,
    namespace: str | None,
    options: tuple[str, ...],
    storages: tuple[str, ...],
    passes: PassFlags,
    cluster_file: Path | None,
    format_: str | None,
) -> None:
    """Put a scheduled workflow in place, or renew it.

    Prints its name. One that is paused stays so. What -p gives is what its runs have.
    """
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
    try:
        found = stages.schedule(
            load(file),
            connection,
            environment=session.environment,
            parameters=parameters,
            passes=passes_of(session, passes, connection.name),
            cluster=machines_of(session, cluster_file, file),
            create_secrets=create_secrets,
            on_note=lambda note: session.info(f"note: {note}"),
        )
    except InvalidWorkflowError as error:
        if any(one.code == _WANTS_A_VALUE for one in error.diagnostics):
            error.add_note("-p NAME=VALUE gives its runs a value without a default")
        raise
    if format_ == "json":
        echo_json(
            {
                "schema_version": SCHEMA_VERSION,
                **_head(connection),
                **_json(found),
                "place": dict(found.place),
            }
        )
    else:
        click.echo(found.name)
    flags = [
        *(["-e", engine] if engine else []),
        *(["--target", target_name] if target_name else []),
    ]
    again = shlex.join(["couler", "schedule", "resume", found.name, *flags])
    session.info(f"{found.name} is in place at {_where(connection)}: {_told(found, again)}")


@command.command()
@_place_options
@format_option
@session_options
@pass_session
def ls(
    session: Session,
    engine: str | None,
    target_name: str | None,
    namespace: str | None,
    format_: str | None,
) -> None:
    """List what is in place, with its last and next times."""
    connection, remote = _connected(session, engine, target_name, namespace)
    found = remote.schedules()
    if session.settings.choose("format", format_, FORMATS) == "json":
        echo_json(
            {
                "schema_version": SCHEMA_VERSION,
                **_head(connection),
                "schedules": [_json(one) for one in found],
            }
        )
        return
    if not found:
        session.info(f"there is no schedule at {_where(connection)}")
        return
    header = ("schedule", "when", "timezone", "state", "last (UTC)", "next (UTC)", "")
    for line in aligned((header, *map(_row, found))):
        click.echo(line)


@command.command()
@_names
@_place_options
@session_options
@pass_session
def pause(
    session: Session,
    names: tuple[str, ...],
    engine: str | None,
    target_name: str | None,
    namespace: str | None,
) -> None:
    """Let schedules begin no more runs."""

    def do(remote: Scheduling, one: Scheduled) -> None:
        remote.pause(one.place)

    _for_each(session, names, (engine, target_name, namespace), do, "paused")


@command.command()
@_names
@_place_options
@session_options
@pass_session
def resume(
    session: Session,
    names: tuple[str, ...],
    engine: str | None,
    target_name: str | None,
    namespace: str | None,
) -> None:
    """Let schedules begin runs again."""

    def do(remote: Scheduling, one: Scheduled) -> None:
        remote.unpause(one.place)

    _for_each(session, names, (engine, target_name, namespace), do, "resumed")


@command.command()
@_names
@click.option(
    "--with-runs",
    is_flag=True,
    help="Delete the runs that they have begun as well, also those under way.",
)
@_place_options
@session_options
@pass_session
def rm(
    session: Session,
    names: tuple[str, ...],
    with_runs: bool,
    engine: str | None,
    target_name: str | None,
    namespace: str | None,
) -> None:
    """Take schedules away.

    The runs that they have begun stay. Airflow cannot go on with runs without their file: there it
    is refused while some are under way.
    """

    def do(remote: Scheduling, one: Scheduled) -> None:
        remote.unschedule(one.place, with_runs=with_runs)

    _for_each(session, names, (engine, target_name, namespace), do, "removed")


def _for_each(
    session: Session,
    names: tuple[str, ...],
    which: tuple[str | None, str | None, str | None],
    do: Callable[[Scheduling, Scheduled], None],
    done: str,
) -> None:
    """Do something with schedules, all of which must be there before the first is touched."""
    from couler.control.scheduling import find

    connection, remote = _connected(session, *which)
    found = [find(remote, name, connection.engine) for name in dict.fromkeys(names)]
    for one in found:
        do(remote, one)
        session.info(f"{done} {one.name}")


def _connected(
    session: Session, engine: str | None, target_name: str | None, namespace: str | None
) -> tuple[Connection, Scheduling]:
    from couler.control.scheduling import connect_schedules

    connection = connect_to(session, engine, target_name, namespace=namespace)
    return connection, connect_schedules(connection, session.environment)


def _where(connection: Connection) -> str:
    name = connection.name
    return connection.engine if name is None else f"{name} ({connection.engine})"


def _told(found: Scheduled, again: str) -> str:
    when = ", ".join(found.cron)
    if found.is_paused:
        return f"{when}, paused; `{again}` lets it begin runs"
    return when if found.next is None else f"{when}, next {minute_text(found.next)} UTC"


def _row(found: Scheduled) -> tuple[str, ...]:
    return (
        found.name,
        ", ".join(found.cron),
        found.timezone or "",
        "paused" if found.is_paused else "active",
        "" if found.last is None else minute_text(found.last),
        "" if found.next is None else minute_text(found.next),
        " ".join((found.message or "").split()),
    )


def _head(connection: Connection) -> dict[str, t.Any]:
    return {"engine": connection.engine, "target": connection.name}


def _json(found: Scheduled) -> dict[str, t.Any]:
    return {
        "schedule": found.name,
        "cron": list(found.cron),
        "timezone": found.timezone,
        "paused": found.is_paused,
        "last": None if found.last is None else time_text(found.last),
        "next": None if found.next is None else time_text(found.next),
        "message": found.message,
    }
