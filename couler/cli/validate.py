"""`couler validate`: everything that is wrong with a workflow, in one run."""

from __future__ import annotations

import json
import textwrap
import time
import typing as t
from collections.abc import Sequence

import click

from couler.backends.base import Target
from couler.cli._load import Source, load
from couler.cli._options import EngineType, file_argument, profile_option, target_of
from couler.cli._program import LoadError
from couler.cli._session import Session, pass_session, session_options
from couler.cli._storages import storage_option
from couler.ir.diagnostics import Diagnostic
from couler.ir.walk import all_steps
from couler.stages import SCHEMA_VERSION, diagnose

FORMATS = ("text", "json", "github")


class Findings(t.NamedTuple):
    """What checking a FILE gave."""

    source: Source
    workflow: str | None
    engines: tuple[str, ...]
    diagnostics: tuple[Diagnostic, ...]
    steps: int
    seconds: float

    def count(self, severity: str) -> int:
        """Return how many diagnostics are of a severity."""
        return sum(one.severity == severity for one in self.diagnostics)


@click.command()
@file_argument
@click.option(
    "-e",
    "--engine",
    "engines",
    multiple=True,
    type=EngineType(),
    help="Check for this engine as well; can be given several times.",
)
@storage_option
@profile_option
@click.option("--format", "format_", type=click.Choice(FORMATS), help="How to report.")
@session_options
@pass_session
def command(
    session: Session,
    file: Source,
    engines: tuple[str, ...],
    profile: str | None,
    format_: str | None,
    storages: tuple[str, ...],
) -> None:
    """Report everything that is wrong with a workflow.

    Ends with 1 if there is an error; warnings alone do not count.
    """
    settings = session.settings
    default = settings.get("engine")
    if not engines and default is not None:
        engines = (default,)
    if profile is not None and len(engines) != 1:
        raise click.UsageError("--profile belongs to one engine: give one -e ENGINE with it")
    only = engines[0] if len(engines) == 1 else None
    target = target_of(session, only, profile=profile, storages=storages)
    findings = _check(file, engines, target)
    report = _REPORTS[settings.choose("format", format_, FORMATS)]
    report(session, findings)
    if findings.count("error"):
        click.get_current_context().exit(1)


def _check(source: Source, engines: tuple[str, ...], target: Target) -> Findings:
    start = time.perf_counter()
    try:
        loaded = load(source)
    except LoadError as error:
        seconds = time.perf_counter() - start
        return Findings(source, None, engines, error.diagnostics, 0, seconds)
    found = diagnose(loaded, engines, target=target)
    steps = sum(1 for _ in all_steps(loaded.workflow))
    seconds = time.perf_counter() - start
    return Findings(source, loaded.workflow.name, engines, found, steps, seconds)


def _report_text(session: Session, findings: Findings) -> None:
    for line in _text_lines(session, findings.diagnostics):
        click.echo(line)
    errors, warnings = findings.count("error"), findings.count("warning")
    session.info(
        f"{_plural(errors, 'error')}, {_plural(warnings, 'warning')} "
        f"in {_plural(findings.steps, 'step')} ({findings.seconds:.2f} s)"
    )


def _text_lines(session: Session, diagnostics: Sequence[Diagnostic]) -> list[str]:
    lines = []
    width = session.width_of_terminal()
    for one in diagnostics:
        place = f"{one.source}  " if one.source is not None else ""
        lead = f"{place}{one.code} {one.severity}  "
        text = lead + one.message
        if width is not None and len(text) > width:
            indent = " " * min(len(lead), width // 2)
            text = textwrap.fill(
                text, width, subsequent_indent=indent, break_long_words=False,
                break_on_hyphens=False,
            )  # fmt: skip
        colour = "red" if one.severity == "error" else "yellow"
        shown = session.style(one.severity, err=False, fg=colour)
        lines.append(text.replace(f"{one.code} {one.severity}", f"{one.code} {shown}", 1))
    return lines


def _report_json(_session: Session, findings: Findings) -> None:
    tree = {
        "schema_version": SCHEMA_VERSION,
        "file": str(findings.source),
        "workflow": findings.workflow,
        "engines": list(findings.engines),
        "errors": findings.count("error"),
        "warnings": findings.count("warning"),
        "steps": findings.steps,
        "seconds": round(findings.seconds, 3),
        "diagnostics": [one.to_json() for one in findings.diagnostics],
    }
    click.echo(json.dumps(tree, ensure_ascii=False, indent=2))


def _report_github(session: Session, findings: Findings) -> None:
    """Write workflow commands, which GitHub shows at the lines of a pull request."""
    for one in findings.diagnostics:
        properties = {"title": one.code}
        if one.source is not None:
            properties = {"file": one.source.file, "line": str(one.source.line), **properties}
        listed = ",".join(f"{key}={_github_property(value)}" for key, value in properties.items())
        click.echo(f"::{one.severity} {listed}::{_github_data(one.message)}")


def _github_data(text: str) -> str:
    return text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def _github_property(text: str) -> str:
    return _github_data(text).replace(":", "%3A").replace(",", "%2C")


def _plural(count: int, word: str) -> str:
    return f"{count} {word}{'' if count == 1 else 's'}"


_REPORTS = {"text": _report_text, "json": _report_json, "github": _report_github}
