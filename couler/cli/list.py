"""`couler list`: runs, of this machine and of engines elsewhere."""

from __future__ import annotations

import typing as t
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from itertools import islice

import click

from couler.backends import get_backend
from couler.cli._elsewhere import ask, target_name
from couler.cli._options import EngineType
from couler.cli._rows import COLOURS
from couler.cli.format import aligned, echo_json, minute_text, seconds_text, time_text
from couler.cli.runs import FORMATS, format_option, home_option, open_home
from couler.cli.session import Session, pass_session, session_options
from couler.state import Database, RunRecord, RunStatus, ShownStatus, list_runs, shown_status

SCHEMA_VERSION = 1
"""Version of the JSON."""

STATUSES = ("running", "succeeded", "failed", "cancelled", "interrupted")

_BATCH = 200


@click.command()
@click.option("--workflow", metavar="NAME", help="Only runs of this workflow.")
@click.option("--status", type=click.Choice(STATUSES), help="Only runs that stand so.")
@click.option("-e", "--engine", type=EngineType(), help="Only runs of this engine.")
@click.option(
    "--refresh", is_flag=True, help="Ask engines elsewhere how those stand that go on there."
)
@click.option(
    "-n",
    "--limit",
    type=click.IntRange(1, 1_000_000_000),
    default=20,
    show_default=True,
    metavar="N",
    help="At most so many.",
)
@home_option
@format_option
@session_options
@pass_session
def command(
    session: Session,
    workflow: str | None,
    status: ShownStatus | None,
    engine: str | None,
    refresh: bool,
    limit: int,
    home: t.Any,
    format_: str | None,
) -> None:
    """List runs.

    The latest comes first. A run is interrupted if the process that worked on it was killed. Those
    of engines elsewhere stand as they did when they were looked at last, unless --refresh is given.
    """
    if engine is not None:
        get_backend(engine)  # refuses one that there is not
    with open_home(session, home) as (database, place):
        if refresh:
            going_on = list_runs(database, workflow=workflow, status="running", engine=engine)
            asked = [(run, ask(session, run, database, place)[1]) for run in going_on]
            faults = [(run, fault) for run, fault in asked if fault is not None]
        else:
            faults = []
        runs = list(islice(_find(database, workflow, status, engine), limit))
    _show(session, runs, format_)
    for run, fault in faults:
        told = str(fault).removeprefix(f"{run.id}: ")  # some name the run by themselves
        session.error(f"{run.id}: {told}")
    if faults:
        click.get_current_context().exit(faults[0][1].exit_code)


def _show(
    session: Session, runs: Sequence[tuple[RunRecord, ShownStatus]], format_: str | None
) -> None:
    if session.settings.choose("format", format_, FORMATS) == "json":
        tree = {"schema_version": SCHEMA_VERSION, "runs": [_json(*found) for found in runs]}
        echo_json(tree)
        return
    if not runs:
        session.info("there is no such run")
        return
    header = ("run", "engine", "target", "status", "began (UTC)", "took", "")
    rows = [header, *(_row(session, *found) for found in runs)]
    if not any(run.target for run, _ in runs) and len({run.engine for run, _ in runs}) == 1:
        rows = [(row[0], *row[3:]) for row in rows]
    for line in aligned(rows, right={len(rows[0]) - 2}):
        click.echo(line)


def _find(
    database: Database, workflow: str | None, status: ShownStatus | None, engine: str | None
) -> Iterator[tuple[RunRecord, ShownStatus]]:
    recorded: RunStatus | None = "running" if status == "interrupted" else status
    # Which of the running ones are interrupted is known only when each is looked at.
    limit = None if recorded == "running" else _BATCH
    found = list_runs(database, workflow=workflow, status=recorded, engine=engine, limit=limit)
    for run in found:
        shown = shown_status(run)
        if status in (None, shown):
            yield run, shown


def _row(session: Session, run: RunRecord, status: ShownStatus) -> tuple[str, ...]:
    began = run.started or run.created
    ended = datetime.now(UTC) if status == "running" else run.finished
    return (
        run.id,
        run.engine,
        target_name(run) or "",
        session.style(status, err=False, fg=COLOURS[status]),
        minute_text(began),
        "" if ended is None else seconds_text((ended - began).total_seconds()),
        " ".join((run.message or "").split()),
    )


def _json(run: RunRecord, status: ShownStatus) -> dict[str, object]:
    return {
        "run": run.id,
        "workflow": run.workflow,
        "engine": run.engine,
        "target": target_name(run),
        "status": status,
        "message": run.message,
        "started": None if run.started is None else time_text(run.started),
        "finished": None if run.finished is None else time_text(run.finished),
        "folder": run.folder,
        "program": run.program,
        "outputs": dict(run.outputs),
    }
