"""Runs know where in them the steps of their programs are, where passes have changed that."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0005"
down_revision = "0004"

_PATH = sa.Text().with_variant(sa.Text(collation="C"), "postgresql")


def upgrade() -> None:
    """Make the table; the runs that are there are known by the steps that ran."""
    op.create_table(
        "source_maps",
        sa.Column("run_id", _PATH, nullable=False),
        sa.Column("workflow_digest", sa.String(64), nullable=False),
        sa.Column("entries", sa.Text(), nullable=False),
        sa.PrimaryKeyConstraint("run_id", "workflow_digest", name="pk_source_maps"),
        sa.ForeignKeyConstraint(
            ["run_id"], ["runs.id"], name="fk_source_maps_run_id_runs", ondelete="CASCADE"
        ),
    )
