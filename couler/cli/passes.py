"""`couler passes`: the passes that are installed, and their options."""

from __future__ import annotations

import dataclasses
import inspect
import re
import textwrap
import typing as t
from dataclasses import dataclass
from itertools import groupby

import click

from couler.cli._options import PassType
from couler.cli.format import aligned, echo_json
from couler.cli.runs import FORMATS, format_option
from couler.cli.session import Session, pass_session, session_options
from couler.errors import ConfigurationError
from couler.optimizers.pipeline import default_names, load_pass_class, pass_names
from couler.plugin_options import Option, plain_text
from couler.plugins import distribution_of
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
    found, broken = (
        ([describe_pass(name) for name in dict.fromkeys(names)], []) if names else _describe_all()
    )
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


_SENTENCE = re.compile(r".*?[.!?](?=\s|$)", flags=re.DOTALL)
_NAMES = re.compile(r"[A-Za-z_]\w*(?:, [A-Za-z_]\w*)*(?: : .*)?")


@dataclass(frozen=True, slots=True)
class OptionText:
    """The description of an option."""

    name: str
    type: str
    default: str | None
    description: str

    def to_json(self) -> dict[str, t.Any]:
        """Return the option as JSON."""
        return dataclasses.asdict(self)


@dataclass(frozen=True, slots=True)
class PassDescription:
    """The description of a pass."""

    name: str
    summary: str
    distribution: str
    options: tuple[OptionText, ...]

    def to_json(self) -> dict[str, t.Any]:
        """Return the description as JSON."""
        return {
            "name": self.name,
            "summary": self.summary,
            "distribution": self.distribution,
            "options": [option.to_json() for option in self.options],
        }


def describe_pass(name: str) -> PassDescription:
    """Describe an installed pass."""
    entry, factory, options = load_pass_class(name)
    text = inspect.getdoc(factory) or ""
    told = _attributes(text)
    match = _SENTENCE.match(text)
    return PassDescription(
        name=name,
        summary=" ".join(match[0].split()) if match else "",
        distribution=distribution_of(entry),
        options=tuple(_option_text(option, told.get(option.name, "")) for option in options),
    )


def _option_text(option: Option, description: str) -> OptionText:
    default = (
        None
        if option.default is dataclasses.MISSING
        else plain_text(option.default, is_size=option.is_size)
    )
    return OptionText(option.name, option.type_text, default, description)


def _attributes(text: str) -> dict[str, str]:
    """Return what the section `Attributes` or `Parameters` of a docstring says of each name."""
    found: dict[str, list[str]] = {}
    names: list[str] = []
    lines = text.splitlines()
    section = ""
    for number, line in enumerate(lines):
        following = lines[number + 1] if number + 1 < len(lines) else ""
        if following and set(following) == {"-"} and not line.startswith(" "):
            section, names = line, []
        elif section not in ("Attributes", "Parameters") or set(line) == {"-"}:
            continue
        elif not line.startswith(" ") and _NAMES.fullmatch(line):
            names = [name.strip() for name in line.partition(" : ")[0].split(",")]
        elif line.strip():
            for name in names:
                found.setdefault(name, []).append(line.strip())
    return {name: " ".join(words) for name, words in found.items()}
