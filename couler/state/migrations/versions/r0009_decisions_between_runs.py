"""What the cache decided is known between runs as well, and counted when its run is deleted."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0009"
down_revision = "0008"

_PATH = sa.Text().with_variant(sa.Text(collation="C"), "postgresql")


def upgrade() -> None:
    """Let decisions be of no run, and make the table of counts."""
    # SQLite changes no column: the table is made anew, which nothing refers to.
    with op.batch_alter_table("cache_decisions") as batch:
        batch.alter_column("run_id", existing_type=_PATH, nullable=True)
    op.create_table(
        "cache_counts",
        sa.Column("decision", sa.String(16), nullable=False),
        sa.Column("times", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint("decision", name="pk_cache_counts"),
    )
