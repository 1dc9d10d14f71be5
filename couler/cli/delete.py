"""`couler delete`: runs are forgotten."""

from __future__ import annotations

import os
import shutil
import stat
import typing as t
from pathlib import Path

import click

from couler.cli._runs import RunType, folder_of, home_option, open_home
from couler.cli._session import Session, pass_session, session_options
from couler.errors import RunBusyError, StateError
from couler.state import Database, Home, RunRecord, delete_run, find_run, own_run, shown_status


@click.command()
@click.argument("runs", type=RunType(), nargs=-1, required=True, metavar="RUN...")
@home_option
@session_options
@pass_session
def command(session: Session, runs: tuple[str, ...], home: t.Any) -> None:
    """Delete runs: their record, their logs and files.

    A run that goes on is refused. What its steps left in the cache and in the store stays until
    `couler cache gc` finds that nothing needs it.
    """
    with open_home(session, home) as (database, found):
        records = {record.id: record for record in (find_run(database, run) for run in runs)}
        for record in records.values():
            if shown_status(record) == "running":
                raise RunBusyError(f"{record.id} goes on; `couler cancel {record.id}` ends it")
        for record in records.values():
            _delete(database, found, record)
            session.info(f"deleted {record.id}")


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
