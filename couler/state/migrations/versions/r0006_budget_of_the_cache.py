"""A cache under a budget: what it needs to decide, what runs need, and what is to be deleted."""

from __future__ import annotations

import json
import re
import typing as t
from collections import Counter
from collections.abc import Iterator

import sqlalchemy as sa
from alembic import op

revision = "0006"
down_revision = "0005"

_PATH = sa.Text().with_variant(sa.Text(collation="C"), "postgresql")
_DIGEST = sa.String(64)
_OBJECT = re.compile(r"([0-9a-f]{64})/")
_INSTANCE = re.compile(r"\[\d+\]|@\d+")


def upgrade() -> None:
    """Make the tables, and fill them with what is known of earlier runs."""
    _make()
    connection = op.get_bind()
    _place_entries(connection)
    _count_uses(connection)
    _hold_objects(connection)


def _make() -> None:
    op.add_column("cache_entries", _required("place", _PATH, server_default=""))
    op.add_column("cache_entries", _required("admitted", sa.BigInteger(), server_default="0"))
    op.add_column("cache_entries", _required("used", sa.BigInteger(), server_default="0"))
    op.add_column("cache_entries", _required("superseded", sa.Integer(), server_default="0"))
    op.add_column("cache_entries", _required("credit", sa.Double(), server_default="0"))
    op.create_index("ix_cache_entries_workflow_path", "cache_entries", ["workflow", "path"])
    op.create_table(
        "cache_clock",
        sa.Column("id", sa.Integer(), nullable=False, autoincrement=False),
        _required("clock", sa.BigInteger()),
        _required("age", sa.Double()),
        sa.PrimaryKeyConstraint("id", name="pk_cache_clock"),
    )
    op.create_table(
        "cache_places",
        _required("workflow", _PATH),
        _required("place", _PATH),
        _required("lookups", sa.BigInteger()),
        _required("latest", sa.BigInteger()),
        _required("older", sa.BigInteger()),
        _required("seconds", sa.Double()),
        _required("saved_s", sa.Double()),
        _required("lost_s", sa.Double()),
        sa.PrimaryKeyConstraint("workflow", "place", name="pk_cache_places"),
    )
    op.create_table(
        "cache_gone",
        _required("key", _DIGEST),
        _required("workflow", sa.Text()),
        _required("path", _PATH),
        _required("cost_s", sa.Double()),
        _required("used", sa.BigInteger()),
        _required("superseded", sa.Integer()),
        _required("was_kept", sa.Boolean()),
        sa.PrimaryKeyConstraint("key", name="pk_cache_gone"),
    )
    op.create_index("ix_cache_gone_workflow_path", "cache_gone", ["workflow", "path"])
    op.create_table(
        "cache_garbage",
        _required("digest", _DIGEST),
        sa.PrimaryKeyConstraint("digest", name="pk_cache_garbage"),
    )
    op.create_table(
        "run_objects",
        _required("run_id", _PATH),
        _required("digest", _DIGEST),
        _required("of_cache", sa.Boolean()),
        sa.PrimaryKeyConstraint("run_id", "digest", name="pk_run_objects"),
        sa.ForeignKeyConstraint(
            ["run_id"], ["runs.id"], name="fk_run_objects_run_id_runs", ondelete="CASCADE"
        ),
    )
    op.create_index("ix_run_objects_digest", "run_objects", ["digest"])


def _place_entries(connection: sa.Connection) -> None:
    """Tell of each entry where in its workflow it is from, and when in their order it was used."""
    text = "SELECT key, workflow, path FROM cache_entries ORDER BY last_used, key"
    found = connection.execute(sa.text(text)).all()
    rows = []
    later: Counter[tuple[str, str]] = Counter()
    for number, (key, workflow, path) in reversed(list(enumerate(found, 1))):
        place, superseded = _INSTANCE.sub("", path), later[workflow, path]
        rows.append({"entry": key, "place": place, "used": number, "superseded": superseded})
        later[workflow, path] += 1
    if rows:
        change = "place = :place, admitted = :used, used = :used, superseded = :superseded"
        connection.execute(sa.text(f"UPDATE cache_entries SET {change} WHERE key = :entry"), rows)
        clock = sa.text("INSERT INTO cache_clock (id, clock, age) VALUES (1, :clock, 0)")
        connection.execute(clock, {"clock": len(rows)})


def _count_uses(connection: sa.Connection) -> None:
    """Count what steps found in the cache so far, and what that saved."""
    lookups: Counter[tuple[str, str]] = Counter()
    hits: Counter[tuple[str, str]] = Counter()
    text = (
        "SELECT runs.workflow, d.path, d.decision, count(*) FROM cache_decisions d "
        "JOIN runs ON runs.id = d.run_id WHERE d.decision IN ('hit', 'miss') GROUP BY 1, 2, 3"
    )
    for workflow, path, decision, count in connection.execute(sa.text(text)):
        place = workflow, _INSTANCE.sub("", path)
        lookups[place] += count
        hits[place] += count if decision == "hit" else 0
    saved: Counter[tuple[str, str]] = Counter()
    seconds: dict[tuple[str, str], float] = {}
    text = "SELECT workflow, place, hits, cost_s FROM cache_entries ORDER BY used"
    for workflow, path, count, cost_s in connection.execute(sa.text(text)):
        saved[workflow, path] += count * cost_s
        seconds[workflow, path] = cost_s
    rows = [
        {
            "workflow": place[0],
            "place": place[1],
            "lookups": lookups[place],
            "latest": hits[place],
            "seconds": seconds.get(place, 0.0),
            "saved_s": float(saved[place]),
        }
        for place in sorted(lookups.keys() | seconds.keys())
    ]
    if rows:
        names = "workflow, place, lookups, latest, older, seconds, saved_s, lost_s"
        values = ":workflow, :place, :lookups, :latest, 0, :seconds, :saved_s, 0"
        statement = f"INSERT INTO cache_places ({names}) VALUES ({values})"
        connection.execute(sa.text(statement), rows)


def _hold_objects(connection: sa.Connection) -> None:
    """Tell which objects earlier runs refer to: in parameters, and in outputs of their steps."""
    held: dict[tuple[str, str], bool] = {}
    cached = set(connection.execute(sa.text("SELECT key FROM cache_entries")).scalars())
    # Those without a key are wholes: their outputs are those of steps inside.
    text = "SELECT run_id, outputs, status, key FROM steps WHERE key IS NOT NULL"
    for run_id, outputs, status, key in connection.execute(sa.text(text)):
        of_cache = status == "cached" or key in cached
        for digest in _objects(outputs):
            held[run_id, digest] = held.get((run_id, digest), True) and of_cache
    for run_id, parameters in connection.execute(sa.text("SELECT id, parameters FROM runs")):
        held.update(((run_id, digest), False) for digest in _objects(parameters))
    rows = [
        {"run_id": run_id, "digest": digest, "of_cache": of_cache}
        for (run_id, digest), of_cache in held.items()
    ]
    if rows:
        values = "(run_id, digest, of_cache) VALUES (:run_id, :digest, :of_cache)"
        connection.execute(sa.text(f"INSERT INTO run_objects {values}"), rows)


def _objects(text: str) -> Iterator[str]:
    """Yield the objects that stored values refer to, from their JSON."""
    if '"file"' not in text and '"directory"' not in text:
        return
    for stored in json.loads(text).values():
        for item in stored if isinstance(stored, list) else (stored,):
            match item:
                case {"type": "file" | "directory", "text": str(reference)}:
                    found = _OBJECT.match(reference)
                    if found is not None:
                        yield found[1]


def _required(name: str, kind: sa.types.TypeEngine[t.Any], **more: t.Any) -> sa.Column[t.Any]:
    return sa.Column(name, kind, nullable=False, **more)
