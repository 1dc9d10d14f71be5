"""`couler resume`: steps go on that wait for a person."""

from __future__ import annotations

import typing as t

import click

from couler.cli._runs import home_option, open_home, run_argument
from couler.cli._session import Session, pass_session, session_options
from couler.cli._snapshot import take_snapshot
from couler.errors import StateError
from couler.state import find_run, send_signal


@click.command()
@run_argument
@click.argument("step", required=False)
@home_option
@session_options
@pass_session
def command(session: Session, run: str, step: str | None, home: t.Any) -> None:
    """Let steps go on that wait for a person.

    STEP is the path of one that waits, as `couler status` shows it; of a step with items, its name
    is all of them. Without STEP, all that wait go on.
    """
    with open_home(session, home) as (database, found):
        snapshot = take_snapshot(database, found, find_run(database, run).id)
        name = snapshot.run.id
        if snapshot.is_over:
            raise StateError(f"{name} does not run ({snapshot.status}), so no step waits")
        waiting = [str(view.path) for view in snapshot.steps if view.status == "suspended"]
        if not waiting:
            raise StateError(f"{name}: no step waits for a person")
        chosen = [path for path in waiting if step is None or _is_of(path, step)]
        if not chosen:
            raise StateError(f'{name}: "{step}" does not wait. These do: {", ".join(waiting)}')
        for path in chosen:
            send_signal(database, name, path, "resume")
    session.info(f"{name}: {', '.join(chosen)} {'goes' if len(chosen) == 1 else 'go'} on")


def _is_of(path: str, step: str) -> bool:
    return path == step or path.startswith((f"{step}[", f"{step}/", f"{step}@"))
