"""What is decided of offers to the cache, done in one transaction; and what it counts."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

import pytest
import sqlalchemy as sa

from couler.state import Database, cache_decisions_of, delete_run
from couler.state.admission import (
    Eviction,
    Settled,
    Verdict,
    count_hit,
    evict_entries,
    hold_entry,
    settle_offer,
)
from couler.state.cache import list_entries, look_up, pin_entries, stats_of_cache
from couler.state.entries import Offer
from couler.state.ledger import Ledger, Uses, read_ledger
from couler.state.tables import cache_decisions, cache_garbage, cache_objects, run_objects
from tests.state.samples import JSON, NOON

pytestmark = pytest.mark.usefixtures("two_runs")


A, B, C = ("a" * 64, "b" * 64, "c" * 64)
ONE, TWO = ("1" * 64, "2" * 64)


def offer(key: str, **fields: object) -> Offer:
    made = Offer(
        key=key,
        workflow="train",
        step="fit",
        size_bytes=10,
        cost_s=2.5,
        run_id="r1",
        path="fit[0]",
        place="fit",
        outputs=JSON,
        digests=(ONE,),
        made=NOON,
    )
    return replace(made, **fields)  # type: ignore[arg-type]  # fields of the offer


def settle(database: Database, made: Offer, *evict: str, admit: bool = True) -> Settled:
    gone = tuple(Eviction(key, f"no room for {key[0]}") for key in evict)
    verdict = Verdict(admit, "so it is", gone, credit=1.5, age=0.25)
    return settle_offer(database, made, lambda _ledger, _offer: verdict)


def take(database: Database, key: str, *, run_id: str = "r2") -> None:
    entry = look_up(database, key)
    assert entry is not None
    assert hold_entry(database, entry, run_id, [ONE])
    count_hit(database, entry, NOON, lambda ledger: float(ledger.clock))


def kept(database: Database) -> str:
    return "".join(sorted(entry.key[0] for entry in list_entries(database)))


def rows(database: Database, table: sa.Table) -> list[tuple[object, ...]]:
    with database.read() as connection:
        return [tuple(row) for row in connection.execute(sa.select(table))]


def uses(database: Database) -> Uses:
    with database.read() as connection:
        return read_ledger(connection).places["train", "fit"]


def test_what_is_admitted_can_be_looked_up(database: Database) -> None:
    settled = settle(database, offer(A))
    assert settled.decision.decision == "stored"
    found = look_up(database, A)
    assert found is not None
    assert (found.outputs, found.size_bytes, found.cost_s, found.credit) == (JSON, 10, 2.5, 1.5)
    assert (found.created, found.last_used, found.hits) == (NOON, NOON, 0)
    assert (found.admitted, found.used, found.superseded) == (1, 1, 0)
    assert uses(database) == (1, 0, 0, 2.5)
    assert cache_decisions_of(database, "r1") == [settled.decision]


def test_what_goes_is_noted_with_its_reason_in_the_same_transaction(database: Database) -> None:
    settle(database, offer(A))
    settled = settle(database, offer(B, run_id="r2", digests=(TWO,)), A, C)
    [(gone, told)] = settled.evicted
    assert (gone.key, told.key, told.reason) == (A, A, "no room for a")
    assert kept(database) == "b"
    assert rows(database, cache_garbage) == [(ONE,)]
    assert [told.decision for told in cache_decisions_of(database, "r2")] == ["stored", "evicted"]


def test_nothing_is_done_if_the_judge_fails(database: Database) -> None:
    settle(database, offer(A))

    def fail(ledger: Ledger, _offer: Offer) -> Verdict:
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        settle_offer(database, offer(B, digests=(TWO,)), fail)
    assert kept(database) == "a"
    assert rows(database, run_objects) == [("r1", ONE, True)]


def test_the_judge_sees_what_is_there(database: Database) -> None:
    settle(database, offer(A))
    settle(database, offer(B, run_id="r2", size_bytes=5))
    seen: list[Ledger] = []

    def look(ledger: Ledger, _offer: Offer) -> Verdict:
        seen.append(ledger)
        assert [entry.key for entry in ledger.entries] == [A, B]
        assert ledger.used_bytes() == 15
        assert ledger.used_bytes(run_id="r1") == 10
        assert ledger.used_bytes(but=A) == 5
        assert (ledger.clock, ledger.age) == (3, 0.25)
        return Verdict(True, "")

    settle_offer(database, offer(C), look)
    assert len(seen) == 1


def test_what_is_pinned_stays_whatever_the_judge_says(database: Database) -> None:
    settle(database, offer(A))
    pin_entries(database, [A], pinned=True)
    assert settle(database, offer(B), A).evicted == ()
    assert evict_entries(database, lambda _: [Eviction(A, ""), Eviction(B, "")])[0][0].key == B
    assert kept(database) == "a"


def test_an_entry_that_is_gone_is_not_taken(database: Database) -> None:
    settle(database, offer(A))
    entry = look_up(database, A)
    assert entry is not None
    evict_entries(database, lambda _: [Eviction(A, "")])
    assert not hold_entry(database, entry, "r2", [ONE])
    assert rows(database, run_objects) == [("r1", ONE, True)]


def test_a_refusal_removes_what_was_of_no_use_and_nothing_else(database: Database) -> None:
    settle(database, offer(A))
    settle(database, offer(A, run_id="r2"), admit=False)  # both had missed it
    assert kept(database) == "a"
    entry = look_up(database, A)
    assert entry is not None
    settle(database, offer(A, useless=entry.admitted), admit=False)
    assert kept(database) == ""


def test_an_entry_that_goes_while_its_files_are_checked_has_served_its_step(
    database: Database,
) -> None:
    settle(database, offer(A))
    entry = look_up(database, A)
    assert entry is not None
    assert hold_entry(database, entry, "r2", [ONE])
    evict_entries(database, lambda _: [Eviction(A, "")])
    count_hit(database, entry, NOON, lambda _: 0.0)
    assert kept(database) == ""
    assert (uses(database).lookups, stats_of_cache(database).saved_s) == (2, 2.5)


def test_who_asks_for_the_latest_and_who_for_older_ones(database: Database) -> None:
    for key in (A, B, C):
        settle(database, offer(key))
    settle(database, offer("d" * 64, path="fit[1]"))
    ranks = {entry.key[0]: entry.superseded for entry in list_entries(database)}
    assert ranks == {"a": 2, "b": 1, "c": 0, "d": 0}
    take(database, B)
    assert uses(database)[:3] == (5, 0, 1)
    ranks = {entry.key[0]: entry.superseded for entry in list_entries(database)}
    assert ranks == {"a": 2, "b": 0, "c": 1, "d": 0}
    take(database, B)
    assert uses(database)[:3] == (6, 1, 1)
    assert {entry.key[0]: entry.superseded for entry in list_entries(database)} == ranks


def test_runs_beside_each_other_keep_to_what_they_read(database: Database) -> None:
    """Each keeps at most three: nobody changes what a judge has seen."""

    def at_most_three(ledger: Ledger, _offer: Offer) -> Verdict:
        oldest = sorted(ledger.entries, key=lambda entry: entry.used)
        return Verdict(True, "", tuple(Eviction(one.key, "") for one in oldest[:-2]))

    def add(number: int) -> None:
        made = offer(f"{number:064x}", path=f"fit[{number}]", run_id=f"r{number % 2 + 1}")
        settle_offer(database, made, at_most_three)
        assert len(list_entries(database)) <= 3

    with ThreadPoolExecutor(4) as pool:
        list(pool.map(add, range(24)))
    assert len(list_entries(database)) == 3


def test_what_is_evicted_between_runs_is_told_and_counted(database: Database) -> None:
    settle(database, offer(A))
    settle(database, offer(B))
    [(kept, told)] = evict_entries(database, lambda _: [Eviction(A, "all is too much")])
    assert (kept.key, told.path, told.reason) == (A, "fit[0]", "all is too much")
    assert len(evict_entries(database, lambda _: [Eviction(B, "all is too much")])) == 1
    assert len(rows(database, cache_decisions)) == 2
    assert [told.decision for told in cache_decisions_of(database, "r1")] == ["stored", "stored"]
    assert stats_of_cache(database).evicted == 2
    delete_run(database, "r1")
    assert stats_of_cache(database).evicted == 2


def test_what_is_pinned_is_made_whole_whatever_the_verdict(database: Database) -> None:
    """Its files were lost, or its step would not have run."""
    settle(database, offer(A))
    take(database, A)
    pin_entries(database, [A], pinned=True)
    again = offer(A, digests=(TWO,), size_bytes=20, useless=1, run_id="r2")
    settled = settle(database, again, admit=False)
    assert settled.decision.decision == "stored"
    assert settled.decision.reason == "it is pinned, though so it is"
    found = look_up(database, A)
    assert found is not None
    assert (found.size_bytes, found.pinned, found.hits) == (20, True, 1)
    assert rows(database, cache_objects) == [(A, TWO)]
