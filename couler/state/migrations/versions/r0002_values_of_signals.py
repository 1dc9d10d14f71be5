"""Signals carry values: what a person enters when a step that waits is resumed."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0002"
down_revision = "0001"


def upgrade() -> None:
    """Add the column; signals that are there have no values."""
    op.add_column("signals", sa.Column("entered", sa.Text(), nullable=True))
