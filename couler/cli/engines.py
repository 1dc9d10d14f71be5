"""`couler engines`: what each engine can do, from the engines' own declarations."""

from __future__ import annotations

import sys
import typing as t
from collections.abc import Mapping

import click

from couler.backends import backend_names, get_backend
from couler.backends.base import Backend, Ignored, Lowered, Native, Support, Target, Unsupported
from couler.cli.format import echo_json
from couler.cli.session import Session, pass_session, session_options
from couler.ir.features import Feature
from couler.stages import SCHEMA_VERSION

FORMATS = ("text", "markdown", "json")

Table = Mapping[str, Mapping[Feature, Support]]


@click.command()
@click.argument("names", nargs=-1, metavar="[ENGINE]...")
@click.option("--format", "format_", type=click.Choice(FORMATS), help="How to show the table.")
@session_options
@pass_session
def command(session: Session, names: tuple[str, ...], format_: str | None) -> None:
    """Show what each engine can do.

    A feature is native to an engine, lowered to other things that the engine does, ignored as runs
    come to the same end without it, or refused; -v adds how and why. For one ENGINE or several, or
    for all that are installed.
    """
    backends = [get_backend(name) for name in names or backend_names()]
    table = {backend.name: backend.capabilities(Target()) for backend in backends}
    format_ = session.settings.choose("format", format_, FORMATS)
    if format_ == "json":
        echo_json(_json(backends, table))
    elif format_ == "markdown":
        click.echo(_markdown(table))
    else:
        _show_text(session, table)


def _json(backends: list[Backend], table: Table) -> dict[str, t.Any]:
    return {
        "schema_version": SCHEMA_VERSION,
        "engines": [
            {
                "name": backend.name,
                "profiles": list(backend.profiles),
                "features": {
                    feature.value: _support_json(table[backend.name][feature])
                    for feature in Feature
                },
            }
            for backend in backends
        ],
    }


def _support_json(support: Support) -> dict[str, str]:
    match support:
        case Native():
            return {"support": "native"}
        case Lowered():
            return {"support": "lowered", "by": support.by}
        case Ignored():
            return {"support": "ignored", "why": support.why}
        case Unsupported():
            return {"support": "unsupported", "reason": support.reason}
    t.assert_never(support)


def _markdown(table: Table) -> str:
    """Return the table, and below it how each engine makes or why it refuses a feature."""
    header = f"| Feature | {' | '.join(table)} |"
    rule = "| --- |" + " :-: |" * len(table)
    rows = [
        f"| `{feature.value}` | {' | '.join(_word(table[name][feature]) for name in table)} |"
        for feature in Feature
    ]
    lines = [header, rule, *rows]
    for name, capabilities in table.items():
        notes = [(feature, _note(capabilities[feature])) for feature in Feature]
        lines += ["", f"## {name}", ""]
        lines += [f"- `{feature.value}`: {note}" for feature, note in notes if note]
        if not any(note for _, note in notes):
            lines.append("All features are native.")
    return "\n".join(lines)


def _word(support: Support) -> str:
    match support:
        case Native():
            return "native"
        case Lowered():
            return "lowered"
        case Ignored():
            return "ignored"
        case Unsupported():
            return "no"
    t.assert_never(support)


def _note(support: Support) -> str:
    match support:
        case Native():
            return ""
        case Lowered():
            return f"lowered: {support.by}"
        case Ignored():
            return f"ignored: {support.why}"
        case Unsupported():
            return f"no: {support.reason}"
    t.assert_never(support)


def _show_text(session: Session, table: Table) -> None:
    """Write the table with rich, which cuts nothing and colours only terminals."""
    from rich import box
    from rich.table import Table as RichTable
    from rich.text import Text

    colours = {"native": "green", "lowered": "yellow", "ignored": "magenta", "no": "red"}
    rich_table = RichTable(box=box.SIMPLE_HEAD, pad_edge=False)
    rich_table.add_column("feature", no_wrap=True)
    for name in table:
        rich_table.add_column(name, overflow="fold")
    for feature in Feature:
        cells = []
        for capabilities in table.values():
            support = capabilities[feature]
            word = _word(support)
            note = _note(support) if session.verbose else ""
            cells.append(Text(note or word, style=colours[word]))
        rich_table.add_row(feature.value, *cells)
    colour = session.has_colour(sys.stdout)
    console = session.console(sys.stdout, session.width_of_terminal() or 10_000)
    with console.capture() as capture:
        console.print(rich_table)
    lines = (line.rstrip() for line in capture.get().splitlines())
    click.echo("\n".join(lines).strip("\n"), color=colour or None)
