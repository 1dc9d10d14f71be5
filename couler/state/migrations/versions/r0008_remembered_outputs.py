"""What is remembered of outputs that were evicted: nothing yet of those that were before."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0008"
down_revision = "0007"

_PATH = sa.Text().with_variant(sa.Text(collation="C"), "postgresql")
_TIME = sa.DateTime(timezone=True).with_variant(sa.String(32), "sqlite")


def upgrade() -> None:
    """Add the columns."""
    op.add_column("cache_gone", sa.Column("place", _PATH))
    op.add_column("cache_gone", sa.Column("outputs", sa.Text()))
    op.add_column("cache_gone", sa.Column("run_id", _PATH))
    op.add_column("cache_gone", sa.Column("created", _TIME))
