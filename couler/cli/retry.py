"""`couler retry`: a run goes on where it ended."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Sequence

import click

from couler import stages
from couler.backends.base import RunOptions
from couler.cli._again import Again
from couler.cli._carry_out import carry_out
from couler.cli._events import events_option
from couler.cli._format import aligned
from couler.cli._load import FileType, Source, load
from couler.cli._options import passes_option
from couler.cli._progress import Tell
from couler.cli._rows import COLOURS
from couler.cli._running import home_flag, param_option, parse_params, run_options
from couler.cli._runs import FORMATS, open_home, run_argument
from couler.cli._session import Session, pass_session, session_options
from couler.cli._storages import storage_option, storages_of
from couler.ir.serialize import read_json
from couler.stages.running import RUNNER


@click.command()
@run_argument
@click.option(
    "--file",
    type=FileType(),
    metavar="FILE",
    help="The workflow as it is now; by default that which the run has had.",
)
@param_option
@click.option(
    "--plan", "plan_only", is_flag=True, help="Show what would run and why, change nothing."
)
@click.option(
    "--from",
    "from_step",
    metavar="STEP",
    help="A step, by name or path, that runs again with all that comes after it.",
)
@run_options
@storage_option
@passes_option
@click.option("--format", "format_", type=click.Choice(FORMATS), help="How to report.")
@events_option
@session_options
@pass_session
def command(
    session: Session,
    run: str,
    file: Source | None,
    params: tuple[str, ...],
    plan_only: bool,
    from_step: str | None,
    options: RunOptions,
    passes: tuple[str, ...],
    format_: str | None,
    events: str | None,
    storages: tuple[str, ...],
) -> None:
    """Go on with a run where it ended.

    What has succeeded is not run again, unless its code, its definition or its inputs have
    changed, or something that it depends on runs. RUN is the name of a run, a beginning of it that
    no other has, or latest.
    """
    parameters = parse_params(params)
    format_ = session.settings.choose("format", format_, FORMATS)
    loaded = None if file is None else load(file)
    stated = storages_of(session, RUNNER, storages)
    from couler.state import find_run, workflow_of

    with open_home(session, options.home) as (database, _):
        record = find_run(database, run)
        recorded = workflow_of(database, record.id)
    planned = stages.plan_retry(
        record.id,
        workflow=loaded,
        parameters=parameters,
        options=options,
        passes=passes or None,
        storages=stated,
        from_step=from_step,
    )
    if plan_only:
        _show_plan(session, record.id, planned, format_)
        return
    say_what_runs(session, record.id, planned)

    def start(tell: Tell) -> stages.RunResult:
        return stages.retry(
            record.id,
            workflow=loaded,
            parameters=parameters,
            options=options,
            on_event=tell,
            passes=passes or None,
            storages=stated,
            from_step=from_step,
        )

    again = Again(home_flag(), record.program if file is None else file.written)
    shown = read_json(recorded) if loaded is None else loaded.workflow
    carry_out(session, shown, start, again=again, events=events, format_=format_)


def say_what_runs(session: Session, run: str, planned: Sequence[stages.PlannedStep]) -> None:
    """Say in a line what of a run is taken over, what the cache has and what runs."""
    session.info(f"{run}: {_counts(planned)}")


def _counts(planned: Sequence[stages.PlannedStep]) -> str:
    counts = Counter(step.verdict for step in planned)
    told = [f"{counts['reused']} reused", f"{counts['cached']} cached", f"{counts['runs']} to run"]
    if not counts["cached"]:
        del told[1]
    told += [f"{counts[one]} {one}" for one in ("skipped", "omitted") if counts[one]]
    return ", ".join(told)


def _show_plan(
    session: Session, run: str, planned: Sequence[stages.PlannedStep], format_: str
) -> None:
    if format_ == "json":
        steps = [
            {"path": step.path, "verdict": step.verdict, "reason": step.reason} for step in planned
        ]
        tree = {"schema_version": stages.SCHEMA_VERSION, "run": run, "steps": steps}
        click.echo(json.dumps(tree, ensure_ascii=False, indent=2))
        return
    colours = {**COLOURS, "runs": "cyan"}
    rows = [
        (
            session.style(step.verdict, err=False, fg=colours[step.verdict]),
            step.path,
            step.reason or "",
        )
        for step in planned
    ]
    for line in aligned(rows) if rows else ():
        click.echo(line)
    session.info(f"{run}: {_counts(planned)}")
