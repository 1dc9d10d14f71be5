"""A database from before the cache had a budget: what is made of what it knows."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
import sqlalchemy as sa

from couler.state import open_database
from couler.state.cache import look_up, stats_of_cache
from couler.state.ledger import Uses, read_ledger
from couler.state.tables import run_objects
from tests.support.old_databases import make_database

NOON = "2026-03-01T12:00:00.000000+00:00"
DATA, TABLE, MODEL = ("1" * 64, "2" * 64, "3" * 64)


def file_of(digest: str) -> dict[str, str]:
    return {"text": f"{digest}/x", "type": "file"}


def values_of(**columns: object) -> tuple[str, dict[str, object]]:
    names = ", ".join(columns)
    return f"({names}) VALUES ({', '.join(f':{name}' for name in columns)})", columns


@pytest.fixture
def url(tmp_path: Path) -> str:
    """One run, of a cached step in a foreach, of one without a cache and of their group."""
    url = f"sqlite:///{tmp_path / 'couler.db'}"
    make_database(url, "0005")
    engine = sa.create_engine(url)

    def insert(table: str, **columns: object) -> None:
        text, values = values_of(**columns)
        connection.execute(sa.text(f"INSERT INTO {table} {text}"), values)

    with engine.begin() as connection:
        insert("workflows", digest="w", name="train", ir="{}", created=NOON)
        parameters = json.dumps({"data": file_of(DATA), "n": {"text": "1", "type": "int"}})
        run = {"id": "r1", "workflow_digest": "w", "workflow": "train", "engine": "local"}
        of_run = {"status": "succeeded", "parameters": parameters, "outputs": "{}"}
        insert("runs", **run, **of_run, created=NOON)
        for path, key, outputs in (
            ("each[0]/clean", "a" * 64, {"t": file_of(TABLE), "data": file_of(DATA)}),
            ("fit", "b" * 64, {"m": [file_of(MODEL), None]}),
            ("each", None, {"t": [file_of(TABLE)]}),
        ):
            step = {"name": "s", "status": "succeeded", "finished": NOON, "attempts": 1}
            place = {"run_id": "r1", "path": path, "key": key, "session": 1, "ordinal": 1}
            insert("steps", **place, **step, outputs=json.dumps(outputs))
        for path, decision in (("each[0]/clean", "miss"), ("each[1]/clean", "hit"), ("fit", "hit")):
            made = {"run_id": "r1", "path": path, "key": "a" * 64, "decision": decision}
            insert("cache_decisions", **made, reason="", at=NOON)
        for key, hour in (("c" * 64, 9), ("a" * 64, 10)):
            entry = {"key": key, "workflow": "train", "step": "clean", "outputs": "{}"}
            more = {"size_bytes": 5, "cost_s": 2.0, "created": NOON, "hits": 3, "pinned": False}
            used = NOON.replace("T12", f"T{hour:02}")
            insert(
                "cache_entries", **entry, **more, last_used=used, run_id="r1", path="each[0]/clean"
            )
    engine.dispose()
    return url


def test_what_is_known_of_the_cache_is_counted(url: str) -> None:
    with open_database(url) as database:
        latest, older = look_up(database, "a" * 64), look_up(database, "c" * 64)
        with database.read() as connection:
            ledger = read_ledger(connection)
            assert ledger.clock == 2
            assert ledger.places == {
                ("train", "each/clean"): Uses(2, 1, 0, 2.0),
                ("train", "fit"): Uses(1, 1, 0, 0.0),
            }
        assert stats_of_cache(database).saved_s == 12.0
    assert latest is not None
    assert older is not None
    assert (latest.place, latest.used, latest.superseded) == ("each/clean", 2, 0)
    assert (older.place, older.used, older.superseded) == ("each/clean", 1, 1)


def test_runs_hold_their_files(url: str) -> None:
    """Parameters and what went past the cache for ever, the rest as long as there is no budget."""
    with open_database(url) as database, database.read() as connection:
        rows = connection.execute(sa.select(run_objects)).all()
    assert sorted(tuple(row) for row in rows) == [
        ("r1", DATA, False),
        ("r1", TABLE, True),
        ("r1", MODEL, False),
    ]
