"""`couler cancel`: ends a run that goes on."""

from __future__ import annotations

import typing as t

import click

from couler import stages
from couler.backends.base import RunOptions
from couler.cli._again import Again
from couler.cli.running import home_flag
from couler.cli.runs import home_option, open_home, run_argument
from couler.cli.session import Session, pass_session, session_options
from couler.state import Database, Home, RunRecord, find_run


@click.command()
@run_argument
@home_option
@session_options
@pass_session
def command(session: Session, run: str, home: t.Any) -> None:
    """End a run that goes on.

    Its steps are ended, its exit handlers run, and it can be taken up again. A run whose process
    was killed is recorded as cancelled, and what it left behind is ended. Ends with 1 if the run
    had ended before, or takes long to end.
    """
    with open_home(session, home) as (database, found):
        record = find_run(database, run)
        if record.status == "running" or _waits(record):
            status = _end(session, record, database, found)
            if status == "cancelled":
                retry = Again(home_flag()).retry(record.id)
                session.info(f"{record.id} is cancelled; resume with {retry}")
                return
            if status == "running":
                out = ""
                if record.target is not None:
                    out = f"; `couler delete {record.id}` takes it away as it is"
                session.complain(f"{record.id} was told to end, and has not yet{out}")
                click.get_current_context().exit(1)
        else:
            status = record.status
    session.complain(f"{record.id} has ended already: {status}")
    click.get_current_context().exit(1)


def _waits(run: RunRecord) -> bool:
    """Return whether a run that failed is about to be taken up again by who watches it."""
    from couler.control.marks import is_waiting

    return is_waiting(run)


def _end(session: Session, run: RunRecord, database: Database, home: Home) -> str:
    """End a run, and return how it stands then."""
    if run.target is None:
        return stages.cancel(run.id, options=RunOptions(home=home.root))
    from couler.control.ending import cancel

    return cancel(run, database, home, session.environment).status
