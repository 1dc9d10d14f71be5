"""Running to the end: what a run shows, tells and leaves behind, on this machine or elsewhere."""

from __future__ import annotations

import json
import os
import sys
import textwrap
import time
import typing as t
from collections import Counter, deque
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path

import click

from couler.cli._again import Again
from couler.cli._events import STANDARD_OUTPUT, EventLog, open_events
from couler.cli._progress import Tell, show_progress
from couler.cli._rows import COLOURS
from couler.cli.format import echo_json, seconds_text
from couler.cli.session import Session
from couler.ir.grouped import lines_of
from couler.ir.semantics.places import around
from couler.ir.source_map import SourceMap
from couler.ir.walk import StepPath
from couler.ir.workflow import Workflow
from couler.show.text import shorten
from couler.stages import RunEvent, RunResult

if t.TYPE_CHECKING:
    from couler.state import RunRecord
    from couler.state.results import StepResult

_LOG_END = 1 << 16
"""How many of a log's last characters may tell why a step failed."""

_LOG_LINES = 15
"""How many of a failed step's last lines are shown."""


def carry_out(
    session: Session,
    workflow: Workflow,
    start: Callable[[Tell], RunResult],
    *,
    source_map: SourceMap,
    again: Again,
    events: str | None,
    format_: str,
    run: RunRecord | None = None,
) -> t.NoReturn:
    """Run, show how it goes, report the end, and end the command with its exit code."""
    if events == STANDARD_OUTPUT and format_ == "json":
        raise click.UsageError("--format json and --events - both want standard output")
    shown = events != STANDARD_OUTPUT
    if not shown and sys.stdout.isatty():
        session.quiet = True  # a table between the lines could not be read
    begun = time.monotonic()  # a run that is taken up again began long ago
    with (
        open_events(session, events, workflow.name, source_map) as log,
        show_progress(session, workflow, again, source_map) as show,
    ):
        result = _watch(show, start, again, log, None if run is None else run.id)
    if shown:
        try:
            _show_outputs(result, format_)
            sys.stdout.flush()
        except OSError as error:  # which changes nothing of the run
            # Python flushes at its end what could not be written.
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
            session.info(f"note: its outputs cannot be printed: {error.strerror}")
    for note in result.notes:
        session.info(f"note: {note}")
    for line in _failure_lines(result, again, None if run is None else run.engine):
        session.complain(line)
    session.info(_summary(session, result, again, time.monotonic() - begun))
    for line in _hints(result, again):
        session.complain(line)
    codes = {"succeeded": 0, "failed": 1, "cancelled": 130}
    click.get_current_context().exit(codes[result.status])


def _watch(
    show: Tell,
    start: Callable[[Tell], RunResult],
    again: Again,
    log: EventLog | None,
    run: str | None,
) -> RunResult:
    def tell(event: RunEvent) -> None:
        nonlocal run
        run = event.run
        if log is not None:
            log.tell(event)
        show(event)

    try:
        result = start(tell)
    except BaseException as error:
        if run is not None:
            error.add_note(again.broken_off(run))
        if log is not None:
            log.break_off(str(error) or "interrupted")
        raise
    if log is not None:
        log.end(result)
    return result


def _show_outputs(result: RunResult, format_: str) -> None:
    if format_ == "json":
        echo_json(result.to_json())
        return
    for name, value in result.outputs.items():
        click.echo(_output_text(name, value))


def _output_text(name: str, value: object) -> str:
    """Return an output for people: text as it is, all else as JSON."""
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
    if "\n" not in text:
        return f"{name} = {text}"
    return f"{name} =\n{textwrap.indent(text, '  ')}"


def _summary(session: Session, result: RunResult, again: Again, took_s: float) -> str:
    hosts = set(result.source_map.hosts(result.steps).values())  # told by the steps inside
    whole = [
        step
        for path, step in result.steps.items()
        if path not in hosts and not set("/[@") & set(path)
    ]
    counts = Counter("reused" if step.reused else step.status for step in whole)
    told = ", ".join(f"{count} {status}" for status, count in counts.items()) or "no steps"
    status = session.style(result.status, fg=COLOURS[result.status], bold=True)
    said = f"{result.run_id} {status} in {seconds_text(took_s)}: {told}"
    if again.is_elsewhere:
        return f"{said}\nlogs: {again.logs(result.run_id)}"
    return f"{said}\nlogs and files: {result.folder}"


def _hints(result: RunResult, again: Again) -> Iterator[str]:
    """Yield how to go on."""
    retry = again.retry(result.run_id)
    if result.status == "cancelled":
        yield f"cancelled; resume with {retry}"
    elif result.status == "failed" and not result.is_lost:
        yield f"resume with {retry}"
        mended = again.retry_mended(result.run_id)
        if mended is not None:
            yield f"or, once the program is mended, {mended}"


def _failure_lines(result: RunResult, again: Again, elsewhere: str | None) -> Iterator[str]:
    """Yield for each step that failed itself why, its last lines, and where the others are."""
    if result.status == "succeeded":
        return
    failed = [path for path, step in result.steps.items() if step.status == "failed"]
    hosts = result.source_map.hosts(failed)
    outer = {
        *hosts.values(),
        *(str(whole) for path in failed for whole in around(StepPath.parse(path))),
    }
    for path in failed:
        if path in outer:
            continue
        step = result.steps[path]
        label = result.source_map.label(path)
        yield f'step "{label}" failed: {_reason(step, elsewhere) or "no reason is known"}'
        if step.log is not None and step.log.is_file():
            yield from _last_lines(step.log, path.rpartition("/")[2] if path in hosts else None)
            yield f"  log: {step.log}"
        elif elsewhere is not None and step.attempts:
            yield f"  log: {again.logs(result.run_id, path)}"
    if not failed and result.message and result.status == "failed":
        yield f"the run failed: {result.message}"


def _reason(step: StepResult, elsewhere: str | None) -> str | None:
    """Return why a step failed; in place of an engine's words what is known of such failures."""
    if elsewhere is None:
        return step.message
    from couler.failures import explain, recognise

    log = step.log
    end = (
        log.read_text(encoding="utf-8", errors="replace")[-_LOG_END:]
        if log and log.is_file()
        else None
    )
    match = recognise(step.message, exit_code=step.exit_code, log=end, system=elsewhere)
    return step.message if match is None else explain(match).replace("\n", "\n  ")


def _last_lines(log: Path, inside: str | None) -> Iterator[str]:
    """Yield the last lines of a log, or those of one step inside of the one whose log it is."""
    last: deque[str] = deque(maxlen=_LOG_LINES)
    count = 0
    # A name begins what ends with a newline, and not what a progress bar writes anew.
    ends = None if inside is None else "\n"
    with log.open(encoding="utf-8", errors="replace", newline=ends) as lines:
        for line in lines if inside is None else _lines_inside(inside, lines):
            last.append(line.rstrip("\n"))
            count += 1
    if count > _LOG_LINES:
        yield f"  | ... {count - _LOG_LINES:,} lines before"
    for line in last:
        yield f"  | {shorten(line, 500) if len(line) > 500 else line}"


def _lines_inside(inside: str, lines: Iterable[str]) -> Iterator[str]:
    for line in lines_of(inside, lines):
        yield from line.rstrip("\r\n").split("\r")
