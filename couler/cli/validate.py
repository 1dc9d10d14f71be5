"""`couler validate`: everything that is wrong with a workflow, in one run."""

from __future__ import annotations

import time
import typing as t
from collections.abc import Mapping
from pathlib import Path

import click

from couler.backends.base import Target
from couler.cli._diagnostics import text_lines
from couler.cli._options import (
    EngineType,
    PassFlags,
    cluster_option,
    engine_and_target,
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
from couler.cli._targets import choose_target
from couler.cli.format import echo_json
from couler.cli.load import Source, load
from couler.cli.session import Session, pass_session, session_options
from couler.ir.diagnostics import Diagnostic
from couler.ir.walk import all_steps
from couler.ir.wording import counted
from couler.optimizers.base import Machines
from couler.optimizers.pipeline import Pipeline
from couler.stages import SCHEMA_VERSION, diagnose, judge
from couler.stages.programs import LoadError

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
@target_option
@click.option(
    "--check",
    "ask",
    is_flag=True,
    help="Let the engine itself, if it is installed here, read what is compiled for it.",
)
@storage_option
@engine_version_option
@profile_option
@namespace_option
@engine_settings_option
@passes_option
@cluster_option
@click.option("--format", "format_", type=click.Choice(FORMATS), help="How to report.")
@session_options
@pass_session
def command(
    session: Session,
    file: Source,
    engines: tuple[str, ...],
    target_name: str | None,
    ask: bool,
    engine_version: str | None,
    profile: str | None,
    namespace: str | None,
    options: tuple[str, ...],
    passes: PassFlags,
    cluster_file: Path | None,
    format_: str | None,
    storages: tuple[str, ...],
) -> None:
    """Report everything that is wrong with a workflow.

    Ends with 1 if there is an error; warnings alone do not count. With --check, what has none is
    compiled, and the engine itself reads it; no cluster and no server is needed for that.
    """
    settings = session.settings
    default = None if engines else settings.engine()
    if target_name is not None:
        engines = _engine_of_target(session, engines, target_name)
    elif not engines and default is not None:
        engines = (default,)
    if ask and not engines:
        raise click.UsageError("--check asks an engine: give -e ENGINE with it")
    _refuse_for_several(
        engines,
        {
            "--engine-version": engine_version,
            "--profile": profile,
            "--namespace": namespace,
            "--option": options or None,
        },
    )
    _, target = engine_and_target(
        session,
        engines[0] if len(engines) == 1 else None,
        target_name,
        profile=profile,
        engine_version=engine_version,
        namespace=namespace,
        options=options,
        storages=storages,
    )
    chosen = passes_of(session, passes, target_name)
    machines = machines_of(session, cluster_file, file)
    findings = _check(session, file, engines, target, chosen, machines, ask=ask)
    report = _REPORTS[settings.choose("format", format_, FORMATS)]
    report(session, findings)
    if findings.count("error"):
        click.get_current_context().exit(1)


def _engine_of_target(
    session: Session, engines: tuple[str, ...], target_name: str
) -> tuple[str, ...]:
    """Return the engine of a named target, which is the only one then."""
    if len(set(engines)) > 1:
        raise click.UsageError("--target is of one engine: give no other with -e")
    return (choose_target(session, engines[0] if engines else None, target_name)[1],)


def _refuse_for_several(engines: tuple[str, ...], flags: Mapping[str, object]) -> None:
    """Refuse settings of one engine where several are checked for, or none."""
    if len(engines) == 1:
        return
    for name, value in flags.items():
        if value is not None:
            raise click.UsageError(f"{name} belongs to one engine: give one -e ENGINE with it")


def _check(
    session: Session,
    source: Source,
    engines: tuple[str, ...],
    target: Target,
    passes: Pipeline | None,
    machines: Machines,
    *,
    ask: bool,
) -> Findings:
    start = time.perf_counter()
    try:
        loaded = load(source)
    except LoadError as error:
        session.trace(error)
        seconds = time.perf_counter() - start
        return Findings(source, None, engines, error.diagnostics, 0, seconds)
    found = diagnose(loaded, engines, target=target, passes=passes, cluster=machines)
    if ask and not any(one.severity == "error" for one in found):
        for engine in dict.fromkeys(engines):
            found += judge(loaded, engine, target=target, passes=passes, cluster=machines)
    steps = sum(1 for _ in all_steps(loaded.workflow))
    seconds = time.perf_counter() - start
    return Findings(source, loaded.workflow.name, engines, found, steps, seconds)


def _report_text(session: Session, findings: Findings) -> None:
    for line in text_lines(session, findings.diagnostics):
        click.echo(line)
    errors, warnings = findings.count("error"), findings.count("warning")
    session.info(
        f"{counted(errors, 'error')}, {counted(warnings, 'warning')} "
        f"in {counted(findings.steps, 'step')} ({findings.seconds:.2f} s)"
    )


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
    echo_json(tree)


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


_REPORTS = {"text": _report_text, "json": _report_json, "github": _report_github}
