"""Attempts tell where they ran; of those that are there that is not known any more."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0010"
down_revision = "0009"


def upgrade() -> None:
    """Add the column."""
    op.add_column("attempts", sa.Column("node", sa.Text(), nullable=True))
