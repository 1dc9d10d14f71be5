"""`couler delete`: runs are forgotten."""

from __future__ import annotations

import os
import shutil
import stat
import typing as t
from dataclasses import replace
from pathlib import Path

import click

from couler.cli._elsewhere import ask
from couler.cli.runs import RunType, folder_of, home_option, open_home
from couler.cli.session import Session, pass_session, session_options
from couler.errors import LostRunError, RunBusyError, StateError
from couler.state import Database, Home, RunRecord, delete_run, find_run, own_run, shown_status


@click.command()
@click.argument("runs", type=RunType(), nargs=-1, required=True, metavar="RUN...")
@click.option(
    "--keep-remote",
    is_flag=True,
    help="Leave runs with their engines elsewhere, which are not asked; only the record goes.",
)
@home_option
@session_options
@pass_session
def command(session: Session, runs: tuple[str, ...], keep_remote: bool, home: t.Any) -> None:
    """Delete runs: their record, their logs and files.

    A run that goes on is refused. An engine elsewhere is told to delete its runs too; one that was
    told to end, and has not, is deleted as it is, without its exit handlers. What steps left in
    the cache and in the store stays until `couler cache gc` finds that nothing needs it.
    """
    with open_home(session, home) as (database, found):
        records = {record.id: record for record in (find_run(database, run) for run in runs)}
        if not keep_remote:
            records = {id: _asked(session, run, database, found) for id, run in records.items()}
        for record in records.values():
            is_left = keep_remote and record.target is not None
            if shown_status(record) == "running" and not is_left:
                _refuse(record)
        for record in records.values():
            if record.target is not None and not keep_remote:
                _delete_elsewhere(session, record, database)
            _delete(database, found, record)
            session.info(f"deleted {record.id}")


def _refuse(run: RunRecord) -> None:
    """Refuse to delete a run that goes on, unless its engine was told to end it and does not."""
    told = f"{run.id} goes on; `couler cancel {run.id}` ends it"
    if run.target is None:
        raise RunBusyError(told)
    from couler.control import marks

    if not marks.has_mark(run, marks.CANCELLED):
        raise RunBusyError(
            f"{told}, `couler delete {run.id} --keep-remote` forgets it here and leaves it alone "
            "there"
        )


def _asked(session: Session, run: RunRecord, database: Database, home: Home) -> RunRecord:
    """Return a run as it stands; one that its engine has no more is over."""
    latest, fault = ask(session, run, database, home)
    if isinstance(fault, LostRunError):
        return replace(latest, status="failed")
    if fault is not None:
        fault.add_note(f"`couler delete {run.id} --keep-remote` deletes what is recorded here")
        raise fault
    return latest


def _delete_elsewhere(session: Session, run: RunRecord, database: Database) -> None:
    from couler.control.ending import delete_remote

    delete_remote(run, database, session.environment)


def _delete(database: Database, home: Home, record: RunRecord) -> None:
    folder = folder_of(record, home)
    with own_run(folder):  # nobody takes it up meanwhile
        try:
            _remove(folder)
        except OSError as error:
            raise StateError(
                f"{record.id}: its folder {folder} cannot be removed: {error}. Remove it, then "
                "try again"
            ) from error
        delete_run(database, record.id)


def _remove(folder: Path) -> None:
    """Remove a folder, also where steps have made folders that cannot be written."""
    for place, names, _ in os.walk(folder):  # it opens the folders that it names after this
        for name in names:
            path = os.path.join(place, name)
            mode = os.lstat(path).st_mode
            if stat.S_ISDIR(mode) and mode & stat.S_IRWXU != stat.S_IRWXU:
                os.chmod(path, stat.S_IRWXU)
    shutil.rmtree(folder)
