"""What stays under a budget: the limits, the order in which entries go, and what is told."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import pytest
import sqlalchemy as sa

from couler.budget.judging import Budget, Judge
from couler.caching.later_runs import Course
from couler.errors import EngineOptionError
from couler.state import Database, create_run, open_database
from couler.state.admission import Settled, count_hit, evict_entries, settle_offer
from couler.state.cache import list_entries, look_up, pin_entries
from couler.state.entries import Offer
from couler.state.ledger import read_ledger
from couler.state.tables import cache_entries
from tests.state.samples import IR, NOON, RUN


@pytest.fixture
def database(tmp_path: Path) -> Iterator[Database]:
    with open_database(f"sqlite:///{tmp_path}/couler.db") as opened:
        for name in ("r1", "r2"):
            create_run(opened, replace(RUN, id=name), IR)
        yield opened


def offer(
    database: Database, judge: Judge, name: str, size: int, cost_s: float = 1.0, run: str = "r1"
) -> Settled:
    key = name * 64
    made = Offer(key, "train", name, size, cost_s, run, name, name, {}, (key,), NOON)
    return settle_offer(database, made, judge.settle)


def lru(total: int | None, run: int | None = None) -> Judge:
    return Judge(Budget.choose("lru", total, run), Course("train"))


def kept(database: Database) -> str:
    return "".join(sorted(entry.key[0] for entry in list_entries(database)))


def test_without_a_budget_everything_stays(database: Database) -> None:
    for judge in (Judge(), Judge(Budget.choose("none"))):
        settled = offer(database, judge, "a", 10**12)
        assert settled.decision.decision == "stored"
        assert settled.decision.reason == "everything is kept"


def test_what_was_used_longest_ago_goes_until_there_is_room(database: Database) -> None:
    judge = lru(10)
    for name, size in (("a", 4), ("b", 3), ("c", 3)):
        assert offer(database, judge, name, size).evicted == ()
    entry = look_up(database, "a" * 64)
    assert entry is not None
    count_hit(database, entry, NOON, lambda ledger: judge.credit_of(ledger, entry))
    settled = offer(database, judge, "d", 4)
    assert [gone.key[0] for gone, _ in settled.evicted] == ["b", "c"]
    assert settled.decision.reason == "lru: in place of 2 entries"
    assert settled.evicted[0][1].reason == "lru: of least worth when d needed room"
    assert kept(database) == "ad"


def test_what_could_never_fit_is_refused(database: Database) -> None:
    judge = lru(10, 5)
    offer(database, judge, "a", 4)
    assert "12 bytes, and the cache may take 10" in offer(database, judge, "b", 12).decision.reason
    assert "6 bytes, and each run may take 5" in offer(database, judge, "c", 6).decision.reason
    assert kept(database) == "a"


def test_the_share_of_a_run_is_its_own(database: Database) -> None:
    judge = lru(100, 10)
    for name, run in (("a", "r1"), ("b", "r2"), ("c", "r1"), ("d", "r1")):
        offer(database, judge, name, 5, run=run)
    assert kept(database) == "bcd"


def test_what_is_worth_less_than_what_it_would_replace_is_refused(database: Database) -> None:
    judge = Judge(Budget.choose("next-use", 10), Course("train"))
    offer(database, judge, "a", 5, cost_s=100.0)
    offer(database, judge, "b", 5, cost_s=1.0)
    settled = offer(database, judge, "c", 6, cost_s=2.0)  # both would have to go
    assert settled.decision.decision == "rejected"
    assert settled.evicted == ()
    assert kept(database) == "ab"
    assert offer(database, judge, "d", 5, cost_s=2.0).decision.decision == "stored"
    assert kept(database) == "ad"


def test_a_policy_that_refuses_says_why(database: Database) -> None:
    settled = offer(database, Judge(Budget.choose("none", 10)), "a", 1)
    assert settled.decision.reason == "none: nothing is kept: the policy is none"


def test_pins_take_room_and_stay(database: Database) -> None:
    judge = lru(10)
    offer(database, judge, "a", 6)
    pin_entries(database, ["a" * 64], pinned=True)
    offer(database, judge, "b", 4)
    assert offer(database, judge, "c", 5).decision.decision == "rejected"
    assert offer(database, judge, "d", 3).decision.decision == "stored"
    assert kept(database) == "ad"


def test_a_smaller_budget_holds_from_the_next_decision(database: Database) -> None:
    for name in "abcd":
        offer(database, lru(20), name, 5)
    assert offer(database, lru(10), "e", 11).decision.decision == "rejected"
    assert kept(database) == "cd"
    assert offer(database, lru(5), "f", 5).decision.decision == "stored"
    assert kept(database) == "f"


def test_the_cache_is_brought_under_its_budget_without_an_offer(database: Database) -> None:
    for name in "abc":
        offer(database, lru(20), name, 5)
    gone = evict_entries(database, lru(10).shrink)
    assert [one.key[0] for one, _ in gone] == ["a"]
    assert evict_entries(database, lru(10).shrink) == ()
    assert evict_entries(database, Judge().shrink) == ()


def test_a_smaller_share_of_each_run_holds_as_well(database: Database) -> None:
    for name, run in zip("abcd", ("r1", "r2", "r1", "r1"), strict=True):
        offer(database, lru(None, 20), name, 5, run=run)
    gone = evict_entries(database, lru(None, 10).shrink)
    assert [one.key[0] for one, _ in gone] == ["a"]
    gone = evict_entries(database, lru(9, 5).shrink)  # the runs first: what goes for them counts
    assert {one.key[0] for one, _ in gone} == {"b", "c"}
    assert kept(database) == "d"


def test_outputs_that_are_made_again_count_once(database: Database) -> None:
    judge = lru(10)
    offer(database, judge, "a", 6)
    offer(database, judge, "b", 4)
    assert offer(database, judge, "a", 6).evicted == ()
    assert kept(database) == "ab"


def test_worths_can_be_shown(database: Database) -> None:
    for name in "ab":
        offer(database, lru(10), name, 5)
    with database.read() as connection:
        worths = lru(10).worths(read_ledger(connection))
        assert worths == {"a" * 64: 1, "b" * 64: 2}
        assert Judge().worths(read_ledger(connection)) == {}


def test_an_unknown_policy_is_refused() -> None:
    with pytest.raises(EngineOptionError, match="belady"):
        Budget.choose("belady")


@pytest.mark.slow
def test_a_decision_among_ten_thousand_entries(
    database: Database, measure: Callable[[str, str], None]
) -> None:
    """Each one reads all of them and asks what each is worth."""
    rows = [
        {
            "key": f"{number:064x}",
            "workflow": f"w{number % 50}",
            "step": "s",
            "outputs": {},
            "size_bytes": 1000 + number % 7,
            "cost_s": 1.0 + number % 11,
            "hits": 0,
            "created": NOON,
            "last_used": NOON,
            "pinned": False,
            "run_id": "r1",
            "path": f"p[{number}]",
            "place": "p",
            "admitted": number,
            "used": number,
            "superseded": 0,
            "credit": 0.0,
        }
        for number in range(10_000)
    ]
    with database.write() as connection:
        connection.execute(sa.insert(cache_entries), rows)
    judge = Judge(
        Budget.choose("next-use", sum(row["size_bytes"] for row in rows)), Course("train")
    )
    begun = time.process_time()
    settled = [offer(database, judge, name, 2500, cost_s=1000.0) for name in "abcde"]
    spent_ms = (time.process_time() - begun) / len(settled) * 1000
    assert all(2 <= len(one.evicted) <= 3 for one in settled)
    measure("a decision among 10,000 entries", f"{spent_ms:.0f} ms CPU")
