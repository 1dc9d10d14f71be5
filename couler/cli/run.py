"""`couler run`: a workflow on this machine."""

from __future__ import annotations

import json
import textwrap
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import click

from couler import stages
from couler.backends.base import RunOptions
from couler.cli._load import Source, load
from couler.cli._options import file_argument, passes_option
from couler.cli._progress import COLOURS, show_progress
from couler.cli._running import param_option, parse_params, run_options
from couler.cli._session import Session, pass_session, session_options
from couler.show.text import shorten

FORMATS = ("text", "json")

_LOG_LINES = 15
"""How many of a failed step's last lines are shown."""


@click.command()
@file_argument
@param_option
@run_options
@passes_option
@click.option("--format", "format_", type=click.Choice(FORMATS), help="How to report the end.")
@session_options
@pass_session
def command(
    session: Session,
    file: Source,
    params: tuple[str, ...],
    options: RunOptions,
    passes: tuple[str, ...],
    format_: str | None,
) -> None:
    """Run a workflow on this machine.

    The outputs of the workflow go to standard output, all else to standard error. Ends with 1
    if the run failed. The first interrupt ends the running steps and runs the exit handlers; the
    second ends at once.
    """
    parameters = parse_params(params)
    format_ = session.settings.choose("format", format_, FORMATS)
    loaded = load(file)
    with show_progress(session, loaded.workflow) as on_event:
        result = stages.run(
            loaded,
            parameters=parameters,
            options=options,
            on_event=on_event,
            passes=passes or None,
            program=None if file.path == "-" else str(Path(file.path).resolve()),
        )
    if format_ == "json":
        click.echo(json.dumps(result.to_json(), ensure_ascii=False, indent=2))
    else:
        for name, value in result.outputs.items():
            click.echo(_output_text(name, value))
    for note in result.notes:
        session.info(f"note: {note}")
    for line in _failure_lines(result):
        session.complain(line)
    session.info(_summary(session, result))
    if result.status != "succeeded":
        interrupted = result.status == "cancelled"
        click.get_current_context().exit(130 if interrupted else 1)


def _output_text(name: str, value: object) -> str:
    """Return an output for people: text as it is, all else as JSON."""
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
    if "\n" not in text:
        return f"{name} = {text}"
    return f"{name} =\n{textwrap.indent(text, '  ')}"


def _summary(session: Session, result: stages.RunResult) -> str:
    whole = (step for path, step in result.steps.items() if not set("/[@") & set(path))
    counts = Counter(step.status for step in whole)
    told = ", ".join(f"{count} {status}" for status, count in counts.items()) or "no steps"
    seconds = (result.finished - result.started).total_seconds()
    status = session.style(result.status, fg=COLOURS[result.status], bold=True)
    return f"{result.run_id} {status} in {seconds:.1f} s: {told}\nlogs and files: {result.folder}"


def _failure_lines(result: stages.RunResult) -> Iterator[str]:
    """Yield for each step that failed itself why, the last lines of its log, and the log's path."""
    if result.status == "succeeded":
        return
    failed = [path for path, step in result.steps.items() if step.status == "failed"]
    for path in failed:
        if any(_is_inside(other, path) for other in failed):
            continue
        step = result.steps[path]
        yield f'step "{path}" failed: {step.message or "no reason is known"}'
        if step.log is not None:
            lines = step.log.read_text(encoding="utf-8", errors="replace").splitlines()
            if len(lines) > _LOG_LINES:
                yield f"  | ... {len(lines) - _LOG_LINES:,} lines before"
            for line in lines[-_LOG_LINES:]:
                yield f"  | {shorten(line, 500) if len(line) > 500 else line}"
            yield f"  log: {step.log}"
    if not failed and result.message:
        yield f"the run failed: {result.message}"


def _is_inside(path: str, outer: str) -> bool:
    return path != outer and path.startswith((f"{outer}/", f"{outer}[", f"{outer}@"))
