"""What the cache keeps, decided in one transaction, so that all runs together keep to a budget."""

from __future__ import annotations

import typing as t
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime

import sqlalchemy as sa

from couler.state.database import Database
from couler.state.decisions import record_decisions
from couler.state.entries import Entry, Offer
from couler.state.holds import add_holds, lock_cache, note_garbage, portions
from couler.state.ledger import Kept, Ledger, read_clock, read_ledger
from couler.state.records import CacheDecision
from couler.state.remembered import Remembered, of_offer, read_made
from couler.state.tables import (
    cache_clock,
    cache_entries,
    cache_gone,
    cache_objects,
    cache_places,
)
from couler.state.upsert import upsert

_REMEMBERED = 100_000
"""For how many uses of the cache it is remembered what was refused or evicted."""


class Eviction(t.NamedTuple):
    """An entry that goes."""

    key: str
    reason: str


@dataclass(frozen=True, slots=True)
class Verdict:
    """What becomes of an offer."""

    admit: bool
    reason: str
    evict: tuple[Eviction, ...] = ()
    credit: float = 0.0
    age: float = 0.0
    failure: str | None = None


Judge: t.TypeAlias = Callable[[Ledger, Offer], Verdict]


class Settled(t.NamedTuple):
    """What was done with an offer."""

    decision: CacheDecision
    evicted: tuple[tuple[Kept, CacheDecision], ...]
    failure: str | None = None


def settle_offer(database: Database, offer: Offer, judge: Judge) -> Settled:
    """Let an offer be judged, and do what is said."""
    with database.write() as connection:
        lock_cache(connection)
        add_holds(connection, offer.run_id, offer.digests, of_cache=True)
        clock, age = _tick(connection)
        _count_miss(connection, offer)
        verdict = judge(Ledger(connection, clock, age), offer)
        gone = _evict(connection, verdict.evict)
        connection.execute(sa.update(cache_clock).values(age=verdict.age))
        if not verdict.admit and _is_pinned(connection, offer.key):
            verdict = replace(verdict, admit=True, reason=f"it is pinned, though {verdict.reason}")
        if verdict.admit:
            _keep(connection, offer, clock, verdict.credit)
        else:
            _refuse(connection, offer, clock)
        kind: t.Literal["stored", "rejected"] = "stored" if verdict.admit else "rejected"
        decision = CacheDecision(offer.path, offer.key, kind, verdict.reason, offer.made)
        reasons = dict(verdict.evict)
        evicted = tuple(
            (kept, CacheDecision(offer.path, kept.key, "evicted", reasons[kept.key], offer.made))
            for kept in gone
        )
        record_decisions(connection, offer.run_id, [decision, *(told for _, told in evicted)])
    return Settled(decision, evicted, verdict.failure)


def hold_entry(database: Database, entry: Entry, run_id: str, digests: Iterable[str]) -> bool:
    """Record that a run needs the objects of an entry, whatever becomes of the entry."""
    query = sa.select(cache_entries.c.key).where(cache_entries.c.key == entry.key)
    with database.write() as connection:
        lock_cache(connection)
        if connection.execute(query).first() is None:
            return False
        add_holds(connection, run_id, digests, of_cache=True)
    return True


def count_hit(
    database: Database, entry: Entry, used: datetime, credit_of: Callable[[Ledger], float]
) -> None:
    """Record that an entry stood for a step, which may be gone by now."""
    hit = {"last_used": used, "hits": cache_entries.c.hits + 1}
    with database.write() as connection:
        _count_use(connection, cache_entries, entry, hit, credit_of)


def count_pass(database: Database, remembered: Remembered) -> None:
    """Record that a step was passed by what is remembered of it, without being read."""
    with database.write() as connection:
        _count_use(connection, cache_gone, remembered, {})


def _count_use(
    connection: sa.Connection,
    table: sa.Table,
    found: Entry | Remembered,
    changed: Mapping[str, object],
    credit_of: Callable[[Ledger], float] | None = None,
) -> None:
    """Count that what a row tells of was of use, whether or not the row is still there."""
    lock_cache(connection)
    mine = table.c.key == found.key
    row = connection.execute(sa.select(table.c.used, table.c.superseded).where(mine)).first()
    before, superseded = (0, 0) if row is None else (row[0], row[1])
    clock, age = _tick(connection)
    if row is not None:
        _supersede(connection, found, before)
        update = sa.update(table).where(mine)
        connection.execute(update.values(**changed, used=clock, superseded=0))
        if credit_of is not None:
            credit = credit_of(Ledger(connection, clock, age))
            connection.execute(update.values(credit=credit))
    _count(
        *(connection, found.workflow, found.place),
        is_latest=superseded == 0,
        is_older=superseded > 0,
        seconds=found.cost_s,
        saved_s=found.cost_s,
    )


def evict_entries(
    database: Database,
    choose: Callable[[Ledger], Iterable[Eviction]],
    *,
    run_id: str | None = None,
) -> tuple[tuple[Kept, CacheDecision], ...]:
    """Remove entries that are chosen when nobody else can change them."""
    with database.write() as connection:
        lock_cache(connection)
        evicted = evict_chosen(connection, choose)
        record_decisions(connection, run_id, [told for _, told in evicted])
    return evicted


def evict_chosen(
    connection: sa.Connection, choose: Callable[[Ledger], Iterable[Eviction]]
) -> tuple[tuple[Kept, CacheDecision], ...]:
    """Remove entries as `evict_entries` does, in a transaction that has locked the cache."""
    now = datetime.now(UTC)
    evictions = tuple(choose(read_ledger(connection)))
    reasons = dict(evictions)
    return tuple(
        (kept, CacheDecision(kept.path, kept.key, "evicted", reasons[kept.key], now))
        for kept in _evict(connection, evictions)
    )


def _tick(connection: sa.Connection) -> tuple[int, float]:
    """Count a use of the cache; return how many there were, and the age."""
    clock, age = read_clock(connection)
    statement = upsert(cache_clock, connection.dialect, update=["clock"])
    connection.execute(statement.values(id=1, clock=clock + 1, age=age))
    if (clock + 1) % 1000 == 0:
        connection.execute(sa.delete(cache_gone).where(cache_gone.c.used < clock - _REMEMBERED))
    return clock + 1, age


def _count_miss(connection: sa.Connection, offer: Offer) -> None:
    """Count that nothing was kept for what a step ran on, and what it cost if there had been."""
    gone = connection.execute(sa.select(cache_gone).filter_by(key=offer.key)).mappings().first()
    kept = connection.execute(sa.select(cache_entries.c.used).filter_by(key=offer.key)).scalar()
    _count(
        *(connection, offer.workflow, offer.place),
        is_latest=gone is not None and gone["superseded"] == 0,
        is_older=gone is not None and gone["superseded"] > 0,
        seconds=offer.cost_s,
        lost_s=offer.cost_s if gone is not None and gone["was_kept"] else 0.0,
    )
    _supersede(connection, offer, kept or (0 if gone is None else gone["used"]))


def _count(
    connection: sa.Connection,
    workflow: str,
    place: str,
    *,
    is_latest: bool,
    is_older: bool,
    seconds: float,
    saved_s: float = 0.0,
    lost_s: float = 0.0,
) -> None:
    table = cache_places.c
    added = {
        "lookups": 1,
        "latest": int(is_latest),
        "older": int(is_older),
        "saved_s": saved_s,
        "lost_s": lost_s,
    }
    mine = table.workflow == workflow, table.place == place
    values = {name: table[name] + value for name, value in added.items()}
    changed = sa.update(cache_places).where(*mine).values(seconds=seconds, **values)
    if connection.execute(changed).rowcount == 0:
        row = {"workflow": workflow, "place": place, "seconds": seconds, **added}
        connection.execute(sa.insert(cache_places).values(row))


def _supersede(connection: sa.Connection, used: Offer | Entry | Remembered, before: int) -> None:
    """Count for all of a path that were used since something was used before that it is now."""
    for table in (cache_entries, cache_gone):
        of_path = table.c.workflow == used.workflow, table.c.path == used.path
        since = table.c.used > before, table.c.key != used.key
        changed = sa.update(table).where(*of_path, *since)
        connection.execute(changed.values(superseded=table.c.superseded + 1))


def _evict(connection: sa.Connection, evictions: Sequence[Eviction]) -> list[Kept]:
    """Remove entries that are not pinned, note what they leave, and return them."""
    gone = _rows(connection, [eviction.key for eviction in evictions])
    if gone:
        keys = [kept.key for kept in gone]
        made = read_made(connection, keys)
        remove_rows(connection, keys)
        _remember(connection, gone, made)
    return gone


def remove_rows(connection: sa.Connection, keys: Collection[str]) -> None:
    """Remove entries and note their objects, which the transaction's end may leave to nobody."""
    for some in portions(keys):
        of_them = cache_objects.c.key.in_(some)
        note_garbage(connection, sa.select(cache_objects.c.digest).where(of_them))
        going = cache_entries.c.key.in_(some), ~cache_entries.c.pinned
        connection.execute(sa.delete(cache_entries).where(*going))


def _is_pinned(connection: sa.Connection, key: str) -> bool:
    query = sa.select(cache_entries.c.pinned).filter_by(key=key)
    return bool(connection.execute(query).scalar())


def _rows(connection: sa.Connection, keys: Collection[str]) -> list[Kept]:
    columns = [cache_entries.c[name] for name in Kept._fields]
    found: list[Kept] = []
    for some in portions(keys):
        wanted = cache_entries.c.key.in_(some), ~cache_entries.c.pinned
        found += map(Kept._make, connection.execute(sa.select(*columns).where(*wanted)))
    return found


def _remember(
    connection: sa.Connection, gone: Iterable[Kept], made: Mapping[str, Mapping[str, object]]
) -> None:
    rows = [
        {
            "key": kept.key,
            "workflow": kept.workflow,
            "path": kept.path,
            "cost_s": kept.cost_s,
            "used": kept.used,
            "superseded": kept.superseded,
            "was_kept": True,
            **made[kept.key],
        }
        for kept in gone
    ]
    connection.execute(upsert(cache_gone, connection.dialect), rows)


def _keep(connection: sa.Connection, offer: Offer, clock: int, credit: float) -> None:
    row = {
        **{name: getattr(offer, name) for name in _OF_OFFER},
        "created": offer.made,
        "last_used": offer.made,
        "hits": 0,
        "pinned": False,
        "admitted": clock,
        "used": clock,
        "superseded": 0,
        "credit": credit,
    }
    update = [name for name in row if name not in ("key", "hits", "pinned")]
    mine = cache_objects.c.key == offer.key
    note_garbage(connection, sa.select(cache_objects.c.digest).where(mine))
    connection.execute(upsert(cache_entries, connection.dialect, update=update).values(row))
    connection.execute(sa.delete(cache_objects).where(mine))
    objects = [{"key": offer.key, "digest": digest} for digest in dict.fromkeys(offer.digests)]
    if objects:
        connection.execute(sa.insert(cache_objects), objects)
    connection.execute(sa.delete(cache_gone).where(cache_gone.c.key == offer.key))


def _refuse(connection: sa.Connection, offer: Offer, clock: int) -> None:
    """Remember what was refused, and remove what was of no use; others may have kept it since."""
    useless = [
        kept.key for kept in _rows(connection, [offer.key]) if kept.admitted == offer.useless
    ]
    remove_rows(connection, useless)
    row = {
        "key": offer.key,
        "workflow": offer.workflow,
        "path": offer.path,
        "cost_s": offer.cost_s,
        "used": clock,
        "superseded": 0,
        "was_kept": False,
        **of_offer(offer),
    }
    connection.execute(upsert(cache_gone, connection.dialect).values(row))


_OF_OFFER = (
    "key",
    "workflow",
    "step",
    "outputs",
    "size_bytes",
    "cost_s",
    "run_id",
    "path",
    "place",
)
