"""`couler resume`: steps go on that wait for a person."""

from __future__ import annotations

import typing as t
from collections.abc import Mapping

import click

from couler.cli._elsewhere import ask
from couler.cli._prefixes import is_of
from couler.cli._snapshot import take_snapshot
from couler.cli.running import parse_params
from couler.cli.runs import home_option, open_home, run_argument
from couler.cli.session import Session, pass_session, session_options
from couler.errors import StateError, WireError
from couler.ir.parameters import entered_texts
from couler.ir.semantics.places import find_place, refuse_unknown
from couler.ir.serialize import read_json
from couler.ir.walk import StepPath, steps_by_path, without_places
from couler.ir.workflow import Step
from couler.state import (
    Database,
    RunRecord,
    find_run,
    send_signal,
    workflow_of,
)


@click.command()
@run_argument
@click.argument("step", required=False)
@click.option(
    "-p",
    "--param",
    "values",
    multiple=True,
    metavar="NAME=VALUE",
    help="A value that the step gives on, or @FILE with several; can be given several times.",
)
@home_option
@session_options
@pass_session
def command(
    session: Session, run: str, step: str | None, values: tuple[str, ...], home: t.Any
) -> None:
    """Let steps go on that wait for a person.

    STEP is the path of one that waits, as `couler status` shows it; of a step with items, its name
    is all of them. Without STEP, all that wait go on. A step that gives
    values on needs them here.
    """
    given = parse_params(values)
    with open_home(session, home) as (database, found):
        record, fault = ask(session, find_run(database, run), database, found)
        if fault is not None:
            raise fault
        snapshot = take_snapshot(database, found, record.id)
        name = snapshot.run.id
        if snapshot.is_over:
            raise StateError(f"{name} does not run ({snapshot.status}), so no step waits")
        if step is not None and snapshot.source_map:
            workflow = read_json(workflow_of(database, name))
            step = find_place(workflow, step, snapshot.source_map)
        waiting = [str(view.path) for view in snapshot.steps if view.status == "suspended"]
        if step is not None and not any(is_of(path, step) for path in waiting):
            workflow = read_json(workflow_of(database, name))
            refuse_unknown(workflow, step, snapshot.source_map)
        if not waiting and _waits_to_begin(database, record, step):
            _resume_elsewhere(session, record, StepPath(), database, {})
            session.info(f"{name} begins")
            return
        if not waiting:
            raise StateError(f"{name}: no step waits for a person")
        chosen = [path for path in waiting if step is None or is_of(path, step)]
        if not chosen:
            raise StateError(f'{name}: "{step}" does not wait. These do: {", ".join(waiting)}')
        steps = dict(steps_by_path(read_json(workflow_of(database, name))))
        entered_by = {
            path: _entered(path, steps[str(without_places(StepPath.parse(path)))], given)
            for path in chosen
        }
        for path, entered in entered_by.items():
            if record.target is None:
                send_signal(database, name, path, "resume", entered=entered)
            else:
                _resume_elsewhere(session, record, StepPath.parse(path), database, entered)
    session.info(f"{name}: {', '.join(chosen)} {'goes' if len(chosen) == 1 else 'go'} on")


def _waits_to_begin(database: Database, run: RunRecord, step: str | None) -> bool:
    """Return whether a run of an engine elsewhere was to wait for a person before its start."""
    is_asked = run.target is not None and step is None
    return is_asked and read_json(workflow_of(database, run.id)).suspended


def _resume_elsewhere(
    session: Session,
    run: RunRecord,
    path: StepPath,
    database: Database,
    entered: Mapping[str, str],
) -> None:
    """Let a step go on; no path stands for the run."""
    from couler.control.ending import resume

    resume(run, path, database, session.environment, entered)


def _entered(path: str, step: Step, given: Mapping[str, object]) -> dict[str, str]:
    """Return the values for a step as texts."""
    try:
        return entered_texts(step.outputs, given)
    except WireError as error:
        raise click.UsageError(f"{path}: {error}") from error
