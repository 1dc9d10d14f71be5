"""Runs on engines elsewhere, as commands ask for them and follow them."""

from __future__ import annotations

import sys
import time
import typing as t
from collections.abc import Callable
from contextlib import nullcontext
from dataclasses import replace
from functools import partial

import click

from couler import state
from couler.cli._again import Again
from couler.cli._carry_out import carry_out
from couler.cli._progress import Tell, is_live, show_progress
from couler.cli.format import echo_json
from couler.cli.session import Session, heeding_requests_to_end
from couler.errors import ConfigurationError, EngineError, RunBusyError, StateError
from couler.ir.serialize import read_json
from couler.stages import RunEvent, RunResult

if t.TYPE_CHECKING:
    from couler.cli._cache_sync import Keep
    from couler.state import Database, Home, RunRecord

SCHEMA_VERSION = 1
"""Version of the JSON of a run that was begun."""

Unreached: t.TypeAlias = EngineError | ConfigurationError | StateError
"""Why an engine could not be asked."""

_POLL_S = 0.5

retries_option = click.option(
    "--retries",
    type=click.IntRange(min=0),
    metavar="N",
    help="How often, with --watch, a step is tried again whose failure is known to pass; 5.",
)


def target_name(run: RunRecord) -> str | None:
    """Return the name of the target that a run was submitted to, if it has one."""
    return None if run.target is None else run.target.get("name")


def ask(
    session: Session, run: RunRecord, database: Database, home: Home
) -> tuple[RunRecord, Unreached | None]:
    """Ask the engine of a run how it stands, and return its record, and why that may be old."""
    if run.target is None:
        return run, None
    from couler.control import marks
    from couler.control.following import refresh

    if run.status != "running" and not marks.has_mark(run, marks.LOST):
        return run, None

    try:
        return refresh(run, database, home, session.environment), None
    except (EngineError, ConfigurationError) as error:
        return run, error
    except StateError as error:
        if run.place is None:  # nobody knows whether the engine has it
            return run, error
        raise


def watch(
    session: Session,
    run: RunRecord,
    database: Database,
    home: Home,
    *,
    again: Again,
    events: str | None,
    format_: str,
    retries: int | None,
    is_restart: bool = False,
) -> t.NoReturn:
    """Follow a run until it is over, show how it goes, and end as `couler run` does."""
    from couler.failures import MAX_RETRIES

    workflow = read_json(state.workflow_of(database, run.id))

    def start(tell: Tell) -> RunResult:
        from couler.cli._cache_sync import keeper_of

        return follow(
            session,
            run,
            database,
            home,
            tell,
            max_retries=MAX_RETRIES if retries is None else retries,
            is_restart=is_restart,
            keep=keeper_of(session, run, database),
        )

    with heeding_requests_to_end():
        carry_out(
            *(session, workflow, start),
            source_map=state.source_map_of(database, run.id),
            again=again,
            events=events,
            format_=format_,
            run=run,
        )


def follow_shown(
    session: Session, run: RunRecord, database: Database, home: Home, again: Again
) -> Unreached | None:
    """Follow a run until it is over, show how it goes, and return why that broke off if it did."""
    workflow = read_json(state.workflow_of(database, run.id))
    names = state.source_map_of(database, run.id)
    with heeding_requests_to_end(), show_progress(session, workflow, again, names) as tell:
        try:
            follow(session, run, database, home, tell)
        except (EngineError, ConfigurationError) as error:
            return error
        except StateError as error:
            if run.place is None:
                return error
            raise
        except KeyboardInterrupt as error:
            error.add_note(again.broken_off(run.id))
            raise
    return None


def follow(
    session: Session,
    run: RunRecord,
    database: Database,
    home: Home,
    tell: Callable[[RunEvent], None],
    *,
    max_retries: int = 0,
    is_restart: bool = False,
    keep: Keep | None = None,
) -> RunResult:
    """Follow a run until it is over, and tell of its events."""
    from couler.control.cache_sync import SyncBeside
    from couler.control.results import result_of
    from couler.control.watching import Watch, watch as watch_run

    reused: set[str] = set()

    notes: list[str] = []
    # A line would go through the table that lives; it is told with the end.
    tell_note = notes.append if is_live(session) else session.info
    beside = None if keep is None else SyncBeside(partial(keep, is_over=False), tell_note)

    def note(event: RunEvent) -> None:
        if event.kind == "reused":
            reused.add(str(event.path))
        if event.kind == "finished" and beside is not None:
            beside.step_ended()
        tell(event)

    has_said = False
    how = Watch(max_retries, note, tell_note)
    with beside or nullcontext():
        while run.status == "running":
            try:
                run = watch_run(
                    *(run, database, home, session.environment, how), is_restart=is_restart
                )
            except RunBusyError as error:
                if not has_said:
                    session.info(str(error))
                    has_said = True
                time.sleep(_POLL_S)
                run = state.find_run(database, run.id)
    told = None if keep is None else keep(is_over=True)
    if told is not None:
        tell_note(told)
    result = result_of(database, run.id, reused=frozenset(reused))
    return replace(result, notes=(*result.notes, *notes))


def report_begun(session: Session, run: RunRecord, again: Again, format_: str) -> None:
    """Print the name of a run elsewhere, and say how it is followed, or how it has ended."""
    target = target_name(run)
    if format_ == "json":
        tree = {
            "schema_version": SCHEMA_VERSION,
            "run": run.id,
            "workflow": run.workflow,
            "engine": run.engine,
            "target": target,
            "status": run.status,
            "place": None if run.place is None else dict(run.place),
        }
        echo_json(tree)
    else:
        click.echo(run.id)
    where = run.engine if target is None else f"{target} ({run.engine})"
    if run.status == "running":
        session.info(f"{run.id} goes on at {where}; {again.watch(run.id)} shows how it goes")
    elif run.status == "succeeded":
        session.info(f"{run.id} has succeeded at {where} already")
    else:
        session.error(
            f"{run.id} was submitted to {where} before, and has ended: {run.status}. "
            f"{again.retry(run.id)} goes on with it; another --name begins anew"
        )
        sys.exit(1)
