"""The first tables: workflows, runs, their sessions, steps and attempts, and the cache."""

from __future__ import annotations

import typing as t

import sqlalchemy as sa
from alembic import op

revision = "0001"
down_revision = None

# As `couler.state.columns` had them at this revision.
_PATH = sa.Text().with_variant(sa.Text(collation="C"), "postgresql")
_DIGEST = sa.String(64)
_TIME = sa.DateTime(timezone=True).with_variant(sa.String(32), "sqlite")
_JSON = _SENTENCE = sa.Text()


def upgrade() -> None:
    """Make the tables."""
    _make_workflows_and_runs()
    _make_tables_of_a_run()
    _make_cache()


def _make_workflows_and_runs() -> None:
    op.create_table(
        "workflows",
        _required("digest", _DIGEST),
        _required("name", sa.Text()),
        _required("ir", sa.Text()),
        _required("created", _TIME),
        sa.PrimaryKeyConstraint("digest", name="pk_workflows"),
    )
    op.create_table(
        "runs",
        _required("id", _PATH),
        _required("workflow_digest", _DIGEST),
        _required("workflow", sa.Text()),
        _required("engine", sa.Text()),
        _required("status", sa.Text()),
        _required("parameters", _JSON),
        sa.Column("logical_date", sa.Text()),
        sa.Column("started", _TIME),
        sa.Column("finished", _TIME),
        sa.Column("message", _SENTENCE),
        _required("outputs", _JSON),
        sa.Column("folder", _SENTENCE),
        sa.Column("host", sa.Text()),
        sa.Column("program", _SENTENCE),
        _required("created", _TIME),
        sa.PrimaryKeyConstraint("id", name="pk_runs"),
        _refers("runs", "workflow_digest", "workflows.digest"),
    )
    op.create_index("ix_runs_created", "runs", ["created"])
    op.create_index("ix_runs_workflow_digest", "runs", ["workflow_digest"])


def _make_tables_of_a_run() -> None:
    op.create_table(
        "sessions",
        _required("run_id", _PATH),
        _required("number", sa.Integer()),
        _required("pid", sa.Integer()),
        _required("host", sa.Text()),
        _required("started", _TIME),
        sa.Column("finished", _TIME),
        _required("status", sa.Text()),
        _required("options", _JSON),
        _required("workflow_digest", _DIGEST),
        sa.PrimaryKeyConstraint("run_id", "number", name="pk_sessions"),
        _belongs_to_run("sessions"),
        _refers("sessions", "workflow_digest", "workflows.digest"),
    )
    op.create_index("ix_sessions_workflow_digest", "sessions", ["workflow_digest"])
    op.create_table(
        "steps",
        _required("run_id", _PATH),
        _required("path", _PATH),
        _required("name", sa.Text()),
        sa.Column("item", _JSON),
        _required("status", sa.Text()),
        sa.Column("key", _DIGEST),
        _required("outputs", _JSON),
        sa.Column("started", _TIME),
        _required("finished", _TIME),
        _required("attempts", sa.Integer()),
        sa.Column("message", _SENTENCE),
        sa.Column("exit_code", sa.Integer()),
        sa.Column("log", _SENTENCE),
        _required("session", sa.Integer()),
        _required("ordinal", sa.Integer()),
        sa.Column("source_run", _PATH),
        sa.PrimaryKeyConstraint("run_id", "path", name="pk_steps"),
        _belongs_to_run("steps"),
    )
    op.create_table(
        "attempts",
        _required("run_id", _PATH),
        _required("path", _PATH),
        _required("number", sa.Integer()),
        _required("session", sa.Integer()),
        _required("status", sa.Text()),
        _required("started", _TIME),
        sa.Column("finished", _TIME),
        sa.Column("exit_code", sa.Integer()),
        sa.Column("message", _SENTENCE),
        sa.Column("pid", sa.Integer()),
        sa.Column("cpu_s", sa.Double()),
        sa.Column("peak_bytes", sa.BigInteger()),
        sa.Column("log", _SENTENCE),
        sa.PrimaryKeyConstraint("run_id", "path", "number", name="pk_attempts"),
        _belongs_to_run("attempts"),
    )
    op.create_table(
        "signals",
        _required("run_id", _PATH),
        _required("path", _PATH),
        _required("kind", sa.String(16)),
        _required("created", _TIME),
        sa.PrimaryKeyConstraint("run_id", "path", "kind", name="pk_signals"),
        _belongs_to_run("signals"),
    )


def _make_cache() -> None:
    op.create_table(
        "cache_entries",
        _required("key", _DIGEST),
        _required("workflow", sa.Text()),
        _required("step", sa.Text()),
        _required("outputs", _JSON),
        _required("size_bytes", sa.BigInteger()),
        _required("cost_s", sa.Double()),
        _required("created", _TIME),
        _required("last_used", _TIME),
        _required("hits", sa.Integer()),
        _required("pinned", sa.Boolean()),
        _required("run_id", _PATH),
        _required("path", _PATH),
        sa.PrimaryKeyConstraint("key", name="pk_cache_entries"),
    )
    op.create_index("ix_cache_entries_last_used", "cache_entries", ["last_used"])
    op.create_table(
        "cache_objects",
        _required("key", _DIGEST),
        _required("digest", _DIGEST),
        sa.PrimaryKeyConstraint("key", "digest", name="pk_cache_objects"),
        _refers("cache_objects", "key", "cache_entries.key", ondelete="CASCADE"),
    )
    op.create_index("ix_cache_objects_digest", "cache_objects", ["digest"])
    op.create_table(
        "cache_decisions",
        _required("number", sa.BigInteger().with_variant(sa.Integer(), "sqlite")),
        _required("run_id", _PATH),
        _required("path", _PATH),
        _required("key", _DIGEST),
        _required("decision", sa.String(16)),
        _required("reason", _SENTENCE),
        _required("at", _TIME),
        sa.PrimaryKeyConstraint("number", name="pk_cache_decisions"),
        _belongs_to_run("cache_decisions"),
    )
    op.create_index("ix_cache_decisions_run_id_path", "cache_decisions", ["run_id", "path"])


def _required(name: str, kind: sa.types.TypeEngine[t.Any]) -> sa.Column[t.Any]:
    return sa.Column(name, kind, nullable=False)


def _refers(
    table: str, column: str, target: str, ondelete: str | None = None
) -> sa.ForeignKeyConstraint:
    name = f"fk_{table}_{column}_{target.partition('.')[0]}"
    return sa.ForeignKeyConstraint([column], [target], name=name, ondelete=ondelete)


def _belongs_to_run(table: str) -> sa.ForeignKeyConstraint:
    return _refers(table, "run_id", "runs.id", ondelete="CASCADE")
