"""Databases as earlier versions made them."""

from __future__ import annotations

import os
import sqlite3
from contextlib import closing
from pathlib import Path

import sqlalchemy as sa
from alembic.migration import MigrationContext
from alembic.operations import Operations

from couler.state.home import Home
from couler.state.migrations.upgrade import open_scripts
from couler.store import ObjectStore


def make_database(url: str, revision: str) -> None:
    """Make a database with the tables of a revision."""
    engine = sa.create_engine(url)
    scripts = open_scripts()
    with engine.begin() as connection:
        context = MigrationContext.configure(connection)
        context._ensure_version_table()
        with Operations.context(context):
            for script in reversed(list(scripts.iterate_revisions(revision, "base"))):
                script.module.upgrade()
                context.stamp(scripts, script.revision)
    engine.dispose()


def make_failed_run(home: Home) -> None:
    """Make the home of a run that version 0005 has left: its database, and its files in the store.

    ::

        begin = a file, cached; kept(begin) = a directory, cached; own(begin) = a directory;
        check(kept, own) has failed

    The directories share a file. The database is what the engine of then wrote.
    """
    home.root.mkdir(parents=True)
    script = Path(__file__).with_name("failed_run_0005.sql").read_text(encoding="utf-8")
    with closing(sqlite3.connect(home.root / "couler.db")) as connection:
        connection.executescript(script.replace("@HOME@", str(home.root)))
    store = ObjectStore(home.store_url)
    for name, texts in (("kept", ("one", "two")), ("own", ("two", "three"))):
        folder = home.root / name
        folder.mkdir()
        for text in texts:
            (folder / text).write_text(f"{text}\n")
        store.put(folder)
    (home.root / "start").write_text("start\n")
    store.put(home.root / "start")
    for item in store.objects():
        path = store.local_path(f"{item.digest}/x")
        assert path is not None
        os.utime(path, (0, 0))
