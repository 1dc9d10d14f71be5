"""Decisions of the cache: those of a run, those between runs, and what is counted of both."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta

import pytest
import sqlalchemy as sa

from couler.state import Database, RunRecord, cache_decisions_of, delete_run
from couler.state.cache import stats_of_cache
from couler.state.decisions import record_decisions
from couler.state.records import CacheDecision
from couler.state.tables import cache_decisions
from tests.state.samples import NOON

DECISIONS = tuple(
    CacheDecision("fit", letter * 64, "evicted", f"{letter} had no room", NOON + timedelta(number))
    for number, letter in enumerate("abc")
)


@pytest.fixture(autouse=True)
def _run(database: Database, add_run: Callable[..., RunRecord]) -> None:
    """A run that evicted two entries."""
    add_run("r1")
    with database.write() as connection:
        record_decisions(connection, "r1", DECISIONS[:2])


def test_decisions_of_no_run_only_count(database: Database) -> None:
    with database.write() as connection:
        record_decisions(connection, None, DECISIONS[2:])
    assert cache_decisions_of(database, "r1") == list(DECISIONS[:2])
    assert stats_of_cache(database).evicted == 3


def test_decisions_go_with_their_run_and_still_count(database: Database) -> None:
    delete_run(database, "r1")
    with database.read() as connection:
        assert connection.execute(sa.select(cache_decisions)).all() == []
    assert stats_of_cache(database).evicted == 2
