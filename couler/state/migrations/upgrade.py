"""Bring a database to the revision of this program."""

from __future__ import annotations

from pathlib import Path

import sqlalchemy as sa
from alembic.migration import MigrationContext
from alembic.operations import Operations
from alembic.script import ScriptDirectory
from alembic.script.revision import RevisionError
from alembic.util import CommandError

from couler.errors import StateError
from couler.state.migrations import HEAD


def open_scripts() -> ScriptDirectory:
    """Return the revisions, from wherever this package is installed."""
    return ScriptDirectory(Path(__file__).parent)


def upgrade(connection: sa.Connection, place: str) -> None:
    """Run the revisions that a database lacks, in the transaction of a connection."""
    scripts = open_scripts()
    context = MigrationContext.configure(connection)
    current = context.get_current_revision()
    try:
        missing = list(scripts.iterate_revisions(HEAD, current or "base"))
    except (CommandError, RevisionError) as error:
        raise StateError(
            f"{place}: its tables are of revision {current}, which a newer Couler made; this one "
            f"knows up to {HEAD}. Update Couler, or set COULER_HOME to another folder"
        ) from error
    with Operations.context(context):
        for script in reversed(missing):
            script.module.upgrade()
            context.stamp(scripts, script.revision)
