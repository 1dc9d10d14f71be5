"""Databases as earlier versions made them."""

from __future__ import annotations

import sqlalchemy as sa
from alembic.migration import MigrationContext
from alembic.operations import Operations

from couler.state.migrations.upgrade import open_scripts


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
