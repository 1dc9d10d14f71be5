"""Runs may be elsewhere: on which target, and where the engine has them."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0004"
down_revision = "0003"


def upgrade() -> None:
    """Add the columns; the runs that are there are all of this machine."""
    op.add_column("runs", sa.Column("target", sa.Text(), nullable=True))
    op.add_column("runs", sa.Column("place", sa.Text(), nullable=True))
