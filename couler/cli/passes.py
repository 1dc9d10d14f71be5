"""`couler passes`: the passes that are installed, and their options."""

from __future__ import annotations

import textwrap
from itertools import groupby

import click

from couler.cli._options import PassType
from couler.cli._runs import FORMATS, format_option
from couler.cli.format import aligned, echo_json
from couler.cli.session import Session, pass_session, session_options
from couler.errors import ConfigurationError
from couler.optimizers.describe import OptionText, PassDescription, describe_pass
from couler.optimizers.pipeline import default_names, pass_names
from couler.stages import SCHEMA_VERSION

_WIDTH = 100


@click.command()
@click.argument("names", nargs=-1, type=PassType(), metavar="[NAME]...")
@format_option
@session_options
@pass_session
def command(session: Session, names: tuple[str, ...], format_: str | None) -> None:
    """Show the passes that are installed, with their options.

    With names, only these, and what each option means. A pass that runs unless it is left out is
    marked with a star.
    """
    found, broken = _describe(names) if names else _describe_all()
    usual = default_names()
    if session.settings.choose("format", format_, FORMATS) == "json":
        listed = [{**one.to_json(), "is_default": one.name in usual} for one in found]
        tree = {"schema_version": SCHEMA_VERSION, "passes": listed}
        echo_json(tree)
    elif names:
        for number, one in enumerate(found):
            if number:
                click.echo()
            _tell(one)
    else:
        rows = [_row(one, usual) for one in found]
        for line in aligned((("pass", "options", "from", "what it does"), *rows)):
            click.echo(line)
    if broken:
        raise ConfigurationError("\n".join(broken))


def _describe(names: tuple[str, ...]) -> tuple[list[PassDescription], list[str]]:
    return [describe_pass(name) for name in dict.fromkeys(names)], []


def _describe_all() -> tuple[list[PassDescription], list[str]]:
    """Return all that can be loaded, and what is wrong with the others."""
    found: list[PassDescription] = []
    broken: list[str] = []
    for name in pass_names():
        try:
            found.append(describe_pass(name))
        except ConfigurationError as error:  # one broken distribution hides no other
            broken.append(str(error))
    return found, broken


def _row(one: PassDescription, usual: tuple[str, ...]) -> tuple[str, ...]:
    star = "*" if one.name in usual else ""
    options = ", ".join(option.name for option in one.options)
    return (one.name + star, options, one.distribution, one.summary)


def _tell(one: PassDescription) -> None:
    click.echo(f"{one.name}, of {one.distribution}")
    for line in textwrap.wrap(one.summary, _WIDTH):
        click.echo(line)
    for description, options in groupby(one.options, lambda option: option.description):
        click.echo()
        for option in options:
            click.echo(_head(option))
        for line in textwrap.wrap(description, _WIDTH - 4):
            click.echo(f"    {line}")


def _head(option: OptionText) -> str:
    default = "must be given" if option.default is None else f"default {option.default or repr('')}"
    return f"{option.name}: {option.type}; {default}"
