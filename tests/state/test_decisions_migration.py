"""A database from before decisions could be of no run."""

from __future__ import annotations

from datetime import timedelta
from pathlib import Path

import pytest
import sqlalchemy as sa

from couler.state import cache_decisions_of, delete_run, open_database
from couler.state.cache import stats_of_cache
from couler.state.decisions import record_decisions
from couler.state.records import CacheDecision
from couler.state.tables import cache_decisions, runs, workflows
from tests.state.samples import NOON
from tests.support.old_databases import make_database

DECISIONS = tuple(
    CacheDecision("fit", letter * 64, "evicted", f"{letter} had no room", NOON + timedelta(number))
    for number, letter in enumerate("abc")
)


@pytest.fixture
def old_url(url: str, tmp_path: Path) -> str:
    """A run that evicted two entries."""
    (tmp_path / "home").mkdir()
    make_database(url, "0008")
    engine = sa.create_engine(url)
    with engine.begin() as connection:
        connection.execute(
            sa.insert(workflows).values(digest="w", name="train", ir="{}", created=NOON)
        )
        run = {"id": "r1", "workflow_digest": "w", "workflow": "train", "engine": "local"}
        more = {"status": "succeeded", "parameters": {}, "outputs": {}, "created": NOON}
        connection.execute(sa.insert(runs).values(**run, **more))
        record_decisions(connection, "r1", DECISIONS[:2])
    engine.dispose()
    return url


def test_decisions_stay_and_those_of_no_run_count(old_url: str) -> None:
    with open_database(old_url) as database:
        assert cache_decisions_of(database, "r1") == list(DECISIONS[:2])
        with database.write() as connection:
            record_decisions(connection, None, DECISIONS[2:])
        assert cache_decisions_of(database, "r1") == list(DECISIONS[:2])
        with database.read() as connection:
            numbers = connection.execute(sa.select(cache_decisions.c.number)).scalars()
            assert sorted(numbers) == [1, 2]
        assert stats_of_cache(database).evicted == 3


def test_decisions_go_with_their_run_and_still_count(old_url: str) -> None:
    with open_database(old_url) as database:
        delete_run(database, "r1")
        with database.read() as connection:
            assert connection.execute(sa.select(cache_decisions)).all() == []
        assert stats_of_cache(database).evicted == 2
