"""`couler zoo`: the ready-made steps that are installed, and what each takes."""

from __future__ import annotations

import textwrap
import typing as t
from itertools import groupby

import click

from couler.cli.format import aligned, echo_json
from couler.cli.runs import FORMATS, format_option
from couler.cli.session import Session, pass_session, session_options
from couler.stages import SCHEMA_VERSION

if t.TYPE_CHECKING:
    from couler.steps.registry import ZooStep

_WIDTH = 100


@click.group()
@session_options
def command() -> None:
    """Show the ready-made steps that are installed.

    Those that come with Couler, and those that other distributions share by entry points of the
    group couler.steps.
    """


@command.command()
@format_option
@session_options
@pass_session
def ls(session: Session, format_: str | None) -> None:
    """List the steps."""
    from couler.steps.registry import get_step, origin, step_names

    steps = [(get_step(name), origin(name)) for name in step_names()]
    if session.settings.choose("format", format_, FORMATS) == "json":
        echo_json(
            {
                "schema_version": SCHEMA_VERSION,
                "steps": [_head(step, source) for step, source in steps],
            }
        )
        return
    rows = [(step.name, step.version, source, step.summary) for step, source in steps]
    for line in aligned((("name", "version", "from", "summary"), *rows)):
        click.echo(line)


@command.command()
@click.argument("name")
@format_option
@session_options
@pass_session
def show(session: Session, name: str, format_: str | None) -> None:
    """Tell what the step NAME is for and what it takes.

    As JSON, parameters are a JSON Schema of the arguments.
    """
    from couler.steps.registry import get_step, origin

    step, source = get_step(name), origin(name)
    if session.settings.choose("format", format_, FORMATS) == "json":
        parameters = step.parameters.schema()
        rest = {"parameters": parameters, "returns": step.returns, "example": step.example}
        echo_json({"schema_version": SCHEMA_VERSION, **_head(step, source), **rest})
        return
    click.echo(f"{step.name} {step.version}, of {source}")
    click.echo(step.summary)
    click.echo()
    for description, told in groupby(step.parameters.named.values(), lambda one: one.description):
        for parameter in told:
            default = "" if parameter.required else f" = {parameter.default!r}"
            click.echo(f"{parameter.name}: {parameter.label}{default}")
        _echo_described(description)
    if step.parameters.prefix is not None:
        click.echo(f"{step.parameters.prefix}<NAME>: any")
        _echo_described(step.parameters.others)
    if step.returns:
        click.echo("\nGives:")
        _echo_described(step.returns)
    if step.example:
        click.echo("\nExample:")
        click.echo(textwrap.indent(step.example, "    "))


def _echo_described(text: str) -> None:
    for line in textwrap.wrap(text, _WIDTH - 4):
        click.echo(f"    {line}")


def _head(step: ZooStep[..., t.Any], source: str) -> dict[str, t.Any]:
    return {
        "name": step.name,
        "version": step.version,
        "summary": step.summary,
        "distribution": source,
    }
