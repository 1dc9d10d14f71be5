"""`couler plan`: what the passes did, and why."""

from __future__ import annotations

import json
import typing as t

import click

from couler import stages
from couler.cli._load import Source, load
from couler.cli._options import (
    engine_option,
    engine_settings_option,
    engine_version_option,
    file_argument,
    namespace_option,
    passes_option,
    profile_option,
    target_of,
    target_option,
)
from couler.cli._session import Session, pass_session, session_options
from couler.cli._storages import storage_option
from couler.cli._targets import connect_to

FORMATS = ("text", "json")


@click.command()
@file_argument
@engine_option
@target_option
@engine_version_option
@profile_option
@namespace_option
@engine_settings_option
@storage_option
@passes_option
@click.option("--format", "format_", type=click.Choice(FORMATS), help="How to report.")
@session_options
@pass_session
def command(
    session: Session,
    file: Source,
    engine: str | None,
    target_name: str | None,
    engine_version: str | None,
    namespace: str | None,
    options: tuple[str, ...],
    profile: str | None,
    passes: tuple[str, ...],
    format_: str | None,
    storages: tuple[str, ...],
) -> None:
    """Show what the passes did to a workflow, and why.

    Then come the overrides that the program gives the engine, which are merged in last.
    Sizes are those of the workflow as compact JSON, before the first pass and after the last.
    """
    flags: dict[str, t.Any] = {
        "profile": profile,
        "engine_version": engine_version,
        "namespace": namespace,
        "options": options,
        "storages": storages,
    }
    if target_name is None:
        engine = session.settings.get("engine", engine)
        target = target_of(session, engine, **flags)
    else:  # as it is submitted
        connection = connect_to(session, engine, target_name, **flags)
        engine, target = connection.engine, connection.target
    plan = stages.plan(load(file), engine=engine, target=target, passes=passes or None)
    if session.settings.choose("format", format_, FORMATS) == "json":
        click.echo(json.dumps(plan.to_json(), ensure_ascii=False, indent=2))
    else:
        click.echo(plan.to_text())
