"""What may be deleted: directories of earlier runs are needed whole; sessions have heartbeats."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator

import sqlalchemy as sa
from alembic import op

revision = "0007"
down_revision = "0006"

_PATH = sa.Text().with_variant(sa.Text(collation="C"), "postgresql")
_TIME = sa.DateTime(timezone=True).with_variant(sa.String(32), "sqlite")
_DIRECTORY = re.compile(r"([0-9a-f]{64})/[^/]+/")


def upgrade() -> None:
    """Make them, and note the directories that runs hold: of these they hold the lists alone."""
    op.add_column("sessions", sa.Column("seen", _TIME))
    op.create_table(
        "run_directories",
        sa.Column("run_id", _PATH, nullable=False),
        sa.Column("reference", _PATH, nullable=False),
        sa.PrimaryKeyConstraint("run_id", "reference", name="pk_run_directories"),
        sa.ForeignKeyConstraint(
            ["run_id"], ["runs.id"], name="fk_run_directories_run_id_runs", ondelete="CASCADE"
        ),
    )
    connection = op.get_bind()
    held = {
        tuple(row) for row in connection.execute(sa.text("SELECT run_id, digest FROM run_objects"))
    }
    rows = sorted(
        {
            (run_id, reference)
            for query in (
                "SELECT run_id, outputs FROM steps WHERE key IS NOT NULL",
                "SELECT id, parameters FROM runs",
            )
            for run_id, text in connection.execute(sa.text(query))
            for reference, digest in _directories(text)
            if (run_id, digest) in held
        }
    )
    if rows:
        statement = "INSERT INTO run_directories (run_id, reference) VALUES (:run_id, :reference)"
        names = ("run_id", "reference")
        connection.execute(sa.text(statement), [dict(zip(names, row, strict=True)) for row in rows])


def _directories(text: str) -> Iterator[tuple[str, str]]:
    """Yield the directories that stored values refer to, from their JSON: reference and digest."""
    if '"directory"' not in text:
        return
    for stored in json.loads(text).values():
        for item in stored if isinstance(stored, list) else (stored,):
            match item:
                case {"type": "directory", "text": str(reference)}:
                    found = _DIRECTORY.fullmatch(reference)
                    if found is not None:
                        yield reference, found[1]
