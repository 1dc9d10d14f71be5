"""`couler show`: a workflow as a picture."""

from __future__ import annotations

from pathlib import Path

import click

from couler import stages
from couler.cli._options import file_argument, output_option
from couler.cli.load import Source, load
from couler.cli.session import Session, pass_session, session_options, writing
from couler.show import FORMATS


@click.command()
@file_argument
@click.option(
    "--as",
    "as_",
    type=click.Choice(FORMATS),
    default="tree",
    show_default=True,
    help="Kind of picture; ir is the workflow itself as JSON.",
)
@output_option("File to write")
@session_options
@pass_session
def command(session: Session, file: Source, as_: str, output: str | None) -> None:
    """Draw a workflow.

    Also draws a workflow with mistakes, so that they can be seen.
    """
    picture = stages.show(load(file), as_)
    if output is None or output == "-":
        click.echo(picture)
        return
    with writing("-o", output):
        Path(output).write_text(picture + "\n", encoding="utf-8")
    session.detail(f"wrote {output}")
