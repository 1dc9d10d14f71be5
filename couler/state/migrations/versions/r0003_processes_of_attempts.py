"""Attempts have more processes than one: those before and beside it, and when each began."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0003"
down_revision = "0002"


def upgrade() -> None:
    """Add the column; of attempts that are there nothing more is known."""
    op.add_column("attempts", sa.Column("processes", sa.Text(), nullable=True))
