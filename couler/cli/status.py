"""`couler status`: how a run stands."""

from __future__ import annotations

import json
import sys
import time
import typing as t
from collections import Counter
from collections.abc import Iterator, Sequence
from datetime import datetime

import click

from couler.cli._again import Again
from couler.cli._elsewhere import ask, follow_shown, target_name
from couler.cli._rows import COLOURS, LEGEND, Row, live_table, mark_of
from couler.cli._snapshot import ACTIVE, Snapshot, StepView, depth_of, take_snapshot, utc_now
from couler.cli.format import aligned, bytes_text, echo_json, seconds_text
from couler.cli.running import home_flag
from couler.cli.runs import FORMATS, format_option, home_option, open_home, run_argument
from couler.cli.session import Session, pass_session, session_options
from couler.errors import CoulerError
from couler.state import Database, Home, RunRecord, find_run

_POLL_S = 0.5

_MOST_ITEMS = 20
"""Of one step, beyond which those that went well are only counted."""


@click.command()
@run_argument
@click.option("--watch", is_flag=True, help="Show it until the run ends; then 1 if it failed.")
@click.option("-a", "--all", "all_", is_flag=True, help="Show each item of long lists.")
@home_option
@format_option
@session_options
@pass_session
def command(
    session: Session, run: str, watch: bool, all_: bool, home: t.Any, format_: str | None
) -> None:
    """Show how a run stands.

    RUN is the name of a run, a beginning of it that no other has, or latest. An engine elsewhere is
    asked first; if it cannot be, what was known last is shown, and the command ends with 4.
    """
    format_ = session.settings.choose("format", format_, FORMATS)
    fault: CoulerError | None = None
    with open_home(session, home) as (database, found):
        record = find_run(database, run)
        again = Again(home_flag(), is_elsewhere=record.target is not None)
        if not again.is_elsewhere:
            snapshot = _look(session, database, found, record.id, again, watch, format_)
        else:
            if watch:
                fault = follow_shown(session, record, database, found, again)
            else:
                _, fault = ask(session, record, database, found)
            snapshot = take_snapshot(database, found, record.id)
    if format_ == "json":
        echo_json(snapshot.to_json())
    else:
        for line in _lines(session, snapshot, again, all_=all_):
            click.echo(line)
    if fault is not None:
        session.error(f"this is what was known last: {fault}")
        click.get_current_context().exit(fault.exit_code)
    if watch and snapshot.status != "succeeded":
        click.get_current_context().exit(1)


def _look(
    session: Session,
    database: Database,
    home: Home,
    name: str,
    again: Again,
    watch: bool,
    format_: str,
) -> Snapshot:
    """Return how a run of this machine stands, if it is watched once it has ended."""
    is_live = watch and format_ == "text" and sys.stdout.isatty()
    if is_live and session.environment.get("TERM") != "dumb":
        _show_live(session, database, home, name, again)
    snapshot = take_snapshot(database, home, name)
    while watch and not snapshot.is_over:
        time.sleep(_POLL_S)
        snapshot = take_snapshot(database, home, name)
    return snapshot


def _lines(session: Session, snapshot: Snapshot, again: Again, *, all_: bool) -> Iterator[str]:
    now = utc_now()
    run = snapshot.run
    status = session.style(snapshot.status, err=False, fg=COLOURS[snapshot.status], bold=True)
    where = f"  on {target_name(run) or run.engine}" if again.is_elsewhere else ""
    yield f"{run.id}  {status}{where}{_took(snapshot, now)}"
    steps = snapshot.steps if all_ else _fold(snapshot.steps)
    mark = mark_of(sys.stdout)
    rows: list[tuple[str, ...]] = [("step", "state", "elapsed", "try", "cpu", "memory", "")]
    rows += [_cells(session, step, snapshot, again, mark, now) for step in steps]
    rows += _left_out(session, snapshot)
    width = session.width_of_terminal()
    for line, row in zip(aligned(rows, right={2, 3, 4, 5}), rows, strict=True):
        yield line if width is None else _cut(line, row[-1], width)
    if snapshot.critical:
        yield f"{mark} {LEGEND}"
    for name, value in run.outputs.items():
        yield f"{name} = {value if isinstance(value, str) else json.dumps(value)}"
    if run.message and snapshot.status != "succeeded":
        yield run.message
    if snapshot.status in ("failed", "cancelled", "interrupted") and not _is_lost(run):
        yield f"resume with {again.retry(run.id)}"
    if again.is_elsewhere:
        yield f"logs: {again.logs(run.id)}"
    elif run.folder:
        yield f"logs and files: {run.folder}"


def _is_lost(run: RunRecord) -> bool:
    """Return whether the engine of a run has it no more, so that nothing can go on."""
    from couler.control.marks import LOST, has_mark

    return has_mark(run, LOST)


def _cells(
    session: Session,
    step: StepView | str,
    snapshot: Snapshot,
    again: Again,
    mark: str,
    now: datetime,
) -> tuple[str, ...]:
    if isinstance(step, str):
        return (step, "", "", "", "", "", "")
    row = _row(step, snapshot, again, now)
    head = f"{mark} " if row.is_critical else "  " if snapshot.critical else ""
    return (
        head + "  " * row.depth + session.style(row.label, err=False, bold=row.is_critical or None),
        session.style(row.state, err=False, fg=COLOURS.get(row.state)),
        row.took,
        row.tries,
        "" if step.cpu_s is None else seconds_text(step.cpu_s),
        "" if step.peak_bytes is None else bytes_text(step.peak_bytes),
        row.remark,
    )


def _left_out(session: Session, snapshot: Snapshot) -> Iterator[tuple[str, ...]]:
    """Yield a row for each step of the program that a pass has left out."""
    head = "  " if snapshot.critical else ""
    state = session.style("skipped", err=False, fg=COLOURS["skipped"])
    for path, why in snapshot.source_map.removed.items():
        yield (head + path, state, "", "", "", "", why)


def _row(step: StepView, snapshot: Snapshot, again: Again, now: datetime, base: str = "") -> Row:
    depth = depth_of(step.path)
    note = step.message or ""
    if step.status == "suspended":
        answer = again.resume(snapshot.run.id, str(step.path), step.asks)
        note = f"{note}  {answer}" if note else answer
    elif step.status == "failed" and snapshot.run.target is not None:
        note = _headline(step, snapshot.run.engine) or note
    elif step.status == "cached" and step.source_run:
        note = f"from {step.source_run}{f'; {note}' if note else ''}"
    elif step.log is not None and step.status in (*ACTIVE, "interrupted"):
        log = step.log.removeprefix(base)
        note = f"{note}  {log}" if note else log
    return Row(
        label=snapshot.source_map.label(step.path),
        depth=depth,
        state=step.status,
        elapsed_s=step.elapsed_s(now),
        attempt=step.attempts or None,
        note=note,
        is_critical=depth == 0 and step.path[0].name in snapshot.critical,
    )


def _headline(step: StepView, engine: str) -> str | None:
    """Return what is known of why a step failed, in a line; None if it is not recognised."""
    from couler.failures import headline, recognise

    match = recognise(step.message, exit_code=step.exit_code, system=engine)
    return None if match is None else headline(match)


def _fold(steps: Sequence[StepView]) -> Iterator[StepView | str]:
    """Yield the steps, of long lists of items only those that did not go well, and counts."""
    counts = Counter(_list_of(step) for step in steps)
    left: Counter[str] = Counter()
    folded: str | None = None
    inside: str | None = None
    for step in steps:
        text, of = str(step.path), _list_of(step)
        if inside is not None and text.startswith(inside):
            continue
        inside = None
        if folded is not None and not text.startswith(f"{folded}["):
            yield from _counted(folded, left)
            left, folded = Counter(), None
        if of is None or counts[of] <= _MOST_ITEMS:
            yield step
            continue
        folded = of
        if step.status in ("succeeded", "cached", "skipped"):
            left[step.status] += 1
            inside = f"{text}/"
        else:
            yield step
    if folded is not None:
        yield from _counted(folded, left)


def _counted(path: str, left: Counter[str]) -> Iterator[str]:
    if left:
        told = ", ".join(f"{count} {state}" for state, count in left.items())
        yield f"{path}[...]: {told}"


def _list_of(step: StepView) -> str | None:
    """Return the foreach that a step is an item of."""
    last = step.path[-1]
    if last.item is None or last.round is not None:
        return None
    return str(step.path).rpartition("[")[0]


def _took(snapshot: Snapshot, now: datetime) -> str:
    run = snapshot.run
    ended = run.finished if snapshot.is_over else now
    if run.started is None or ended is None:
        return ""
    return f"  {seconds_text((ended - run.started).total_seconds())}"


def _cut(line: str, note: str, width: int) -> str:
    """Return a line with as much less of the note at its end as the terminal is too narrow for."""
    over = len(click.unstyle(line)) - width
    return line if over <= 0 or over >= len(note) else f"{line[: -over - 1]}…"


def _show_live(session: Session, database: Database, home: Home, name: str, again: Again) -> None:
    """Show the run on the terminal until it ends; what was shown goes away."""
    from rich.live import Live

    console = session.console(sys.stdout)
    with Live(
        console=console,
        auto_refresh=False,
        transient=True,
        redirect_stdout=False,
        redirect_stderr=False,
    ) as live:
        while not (snapshot := take_snapshot(database, home, name)).is_over:
            now = utc_now()
            base = f"{snapshot.run.folder}/"  # the footer names it
            rows = [_row(step, snapshot, again, now, base) for step in snapshot.steps]
            table = live_table(
                rows,
                title=f"{name}  {snapshot.status}{_took(snapshot, now)}",
                footer=f"logs and files: {snapshot.run.folder}",
                height=console.height,
                stream=sys.stdout,
            )
            live.update(table, refresh=True)
            time.sleep(_POLL_S)
