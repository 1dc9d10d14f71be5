"""`couler failures`: what failures of engines mean, and whether trying again helps."""

from __future__ import annotations

import sys
import typing as t
from itertools import groupby

import click

from couler.cli.format import aligned, echo_json
from couler.cli.runs import FORMATS, format_option
from couler.cli.session import Session, pass_session, session_options
from couler.failures import PATTERNS, Pattern, explain, passing_pattern, recognise
from couler.failures.explain import retry_sentence
from couler.stages import SCHEMA_VERSION

LIST_FORMATS = ("text", "markdown", "json", "argo")

_TITLES = {
    "kubernetes": "Kubernetes",
    "etcd": "etcd",
    "argo": "Argo Workflows",
    "airflow": "Airflow",
    "registry": "Registries of images",
    "storage": "Object stores and disks",
    "network": "Network",
    "training": "Training",
}


@click.group()
@session_options
def command() -> None:
    """Show what failures of engines mean, and what helps."""


@command.command()
@click.option("--format", "format_", type=click.Choice(LIST_FORMATS), help="How to show the table.")
@session_options
@pass_session
def ls(session: Session, format_: str | None) -> None:
    """List the failures that are recognised.

    As argo, what passes of them is one expression for the variable TRANSIENT_ERROR_PATTERN of
    Argo's controller.
    """
    format_ = session.settings.choose("format", format_, LIST_FORMATS)
    if format_ == "json":
        echo_json(
            {"schema_version": SCHEMA_VERSION, "failures": [_json(pattern) for pattern in PATTERNS]}
        )
    elif format_ == "markdown":
        click.echo(_markdown())
    elif format_ == "argo":
        click.echo(passing_pattern())
    else:
        rows = [(one.name, one.system, one.retry, one.means) for one in _by_system()]
        for line in aligned((("name", "system", "retrying helps", "what it means"), *rows)):
            click.echo(line)


@command.command("explain")
@click.argument("text")
@click.option("--exit-code", type=int, metavar="CODE", help="Of the process.")
@click.option("--http-status", type=int, metavar="STATUS", help="Of the response.")
@click.option("--reason", metavar="WORD", help="Of a pod, a container or a status of Kubernetes.")
@format_option
@session_options
@pass_session
def explain_command(
    session: Session,
    text: str,
    exit_code: int | None,
    http_status: int | None,
    reason: str | None,
    format_: str | None,
) -> None:
    """Tell what a message or the end of a log means.

    TEXT is the message, or - for standard input. Ends with 1 if it is none of those that are
    recognised.
    """
    if text == "-":
        text = sys.stdin.buffer.read().decode("utf-8", errors="replace")
    match = recognise(text, log=text, exit_code=exit_code, http_status=http_status, reason=reason)
    if session.settings.choose("format", format_, FORMATS) == "json":
        echo_json(
            {
                "schema_version": SCHEMA_VERSION,
                "failure": None if match is None else {**_json(match.pattern), "line": match.line},
            }
        )
    elif match is not None:
        click.echo(explain(match))
    else:
        session.error("it is none of the failures that are recognised")
    if match is None:
        raise SystemExit(1)


def _by_system() -> list[Pattern]:
    order = list(_TITLES)
    return sorted(PATTERNS, key=lambda one: order.index(one.system))


def _json(pattern: Pattern) -> dict[str, t.Any]:
    backoff = pattern.backoff
    return {
        "name": pattern.name,
        "system": pattern.system,
        "means": pattern.means,
        "retry": pattern.retry,
        "backoff": None
        if backoff is None
        else {
            "first_s": backoff.first_s,
            "factor": backoff.factor,
            "cap_s": backoff.cap_s,
            "tries": backoff.tries,
        },
        "advice": pattern.advice,
        "source": pattern.source,
    }


def _markdown() -> str:
    """Return a table for each system: what it is, whether retrying helps, a message of it."""
    lines: list[str] = []
    for system, patterns in groupby(_by_system(), key=lambda one: one.system):
        lines += [f"## {_TITLES[system]}", ""]
        lines += ["| Failure | What it means, and what to do | Retrying | A real message |"]
        lines += ["| --- | --- | --- | --- |"]
        lines += [_markdown_row(pattern) for pattern in patterns]
        lines.append("")
    return "\n".join(lines[:-1])


def _markdown_row(pattern: Pattern) -> str:
    means = pattern.means[0].upper() + pattern.means[1:]
    told = pattern.example.log or pattern.example.message
    cells = (
        f"[`{pattern.name}`]({pattern.source})",
        f"{means}. {pattern.advice}",
        _retry_cell(pattern),
        " ".join(_code(line) for line in told.splitlines() if line.strip()),
    )
    return f"| {' | '.join(cell.replace('|', chr(92) + '|') for cell in cells)} |"


def _retry_cell(pattern: Pattern) -> str:
    if pattern.backoff is None:
        return "no"
    return retry_sentence(pattern).removeprefix("Retrying helps").lstrip(": ").rstrip(".")


def _code(text: str) -> str:
    """Return text as code, whatever is in it."""
    fence = "``" if "`" in text else "`"
    return f"{fence}{text.strip()}{fence}"
