"""Attempts have more processes than one, and places in the logs that they share."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0003"
down_revision = "0002"


def upgrade() -> None:
    """Add the columns; of attempts that are there nothing more is known."""
    op.add_column("attempts", sa.Column("processes", sa.Text(), nullable=True))
    op.add_column("attempts", sa.Column("log_from", sa.BigInteger(), nullable=True))
