"""What is remembered of outputs that the cache had no room for."""

from __future__ import annotations

import pytest
import sqlalchemy as sa

from couler.state import Database
from couler.state.admission import count_pass
from couler.state.cache import remove_entries, stats_of_cache
from couler.state.ledger import Uses
from couler.state.remembered import Remembered, recall
from couler.state.tables import cache_gone
from tests.state.samples import JSON, NOON
from tests.state.test_admission import A, B, C, offer, rows, settle, uses

pytestmark = pytest.mark.usefixtures("two_runs")


def remembered(database: Database, key: str) -> Remembered:
    found = recall(database, key)
    assert found is not None
    return found


def test_what_is_evicted_or_refused_is_remembered_until_it_is_kept_again(
    database: Database,
) -> None:
    settle(database, offer(A))
    assert recall(database, A) is None
    settle(database, offer(B), A)
    settle(database, offer(C, path="fit[1]"), admit=False)
    expected = Remembered(A, "train", "fit[0]", "fit", "r1", 2.5, JSON, NOON)
    assert remembered(database, A) == expected
    assert remembered(database, C).path == "fit[1]"
    settle(database, offer(A))
    assert recall(database, A) is None


def test_what_is_removed_by_name_is_forgotten_with_all_of_its_step(database: Database) -> None:
    settle(database, offer(A))
    settle(database, offer(B), A)
    settle(database, offer(C, path="other", place="other"), admit=False)
    assert remove_entries(database, [B]).keys == (B,)
    assert recall(database, A) is None
    assert recall(database, C) is not None
    assert len(rows(database, cache_gone)) == 2  # that it was there is still known


def test_what_nobody_used_goes_and_leaves_what_is_remembered_of_others(database: Database) -> None:
    settle(database, offer(A))
    settle(database, offer(B), A)
    remove_entries(database, [B], unused_since=NOON.replace(year=NOON.year + 1))
    assert (recall(database, A) is None, recall(database, B)) == (False, None)


def test_a_pass_counts_as_a_lookup_of_what_is_remembered(database: Database) -> None:
    settle(database, offer(A), admit=False)
    count_pass(database, remembered(database, A))
    assert uses(database) == Uses(2, 1, 0, 2.5)
    assert stats_of_cache(database).saved_s == 2.5
    [row] = rows(database, sa.select(cache_gone.c.used).subquery())  # type: ignore[arg-type]  # as a table
    assert row == (2,)
