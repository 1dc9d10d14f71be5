"""What it costs the local engine to decide on what a step made, in its database.

A cache is filled with entries of 50 plain steps in a row, most of them of earlier versions, that
differ in size and cost. Then more of them are offered, each in a transaction of its own, as a run
under a budget does when a step has ended (`couler.state.admission.settle_offer` with
`couler.budget.judging.Judge`); about one entry goes for each. The database is SQLite, in a folder
for temporary files.

    python benchmarks/cache_settling.py [--json OUT] [--seed N] [--quick]

The columns: entries kept; CPU milliseconds an offer, the median; how often that is `rows`; entries
that went for an offer. `rows` is the floor: what is known of all entries is read from the database,
and nothing is done with it. `everything` is an offer without a budget, for which no entry is looked
at. Policies decide on all entries each time (but for `none`), as other runs may have changed any of
them since the last offer: so an offer takes longer as there are more entries, as the rows do.
"""

from __future__ import annotations

import argparse
import dataclasses
import itertools
import json
import random
import statistics
import tempfile
import time
import typing as t
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from functools import partial
from pathlib import Path

import sqlalchemy as sa

from couler.budget.judging import Budget, Judge
from couler.caching.later_runs import Course
from couler.caching.registry import policy_names
from couler.state import RunRecord, create_run, open_database
from couler.state.admission import settle_offer
from couler.state.database import Database
from couler.state.entries import Offer
from couler.state.ledger import read_ledger
from couler.state.tables import cache_clock, cache_entries, cache_objects

SIZES = (1_000, 10_000)
QUICK = (20, 100)
OFFERS = 15
"""How many are measured of each policy and size."""
STEPS = 50
MEAN_BYTES = 100
NOON = datetime(2026, 3, 1, 12, tzinfo=UTC)
RUN = RunRecord(
    id="train-1",
    workflow="train",
    workflow_digest="a" * 64,
    engine="local",
    created=NOON,
    status="running",
)
EVERYTHING = "everything"
ROWS = "rows"
SCHEMA_VERSION = 1
_Result = t.TypeVar("_Result")


@dataclass(frozen=True)
class Row:
    """One policy, or the floor, at one size."""

    entries: int
    policy: str
    milliseconds: float
    evicted: float
    """Entries that went for an offer, on the mean."""


def offer(number: int, chance: random.Random) -> Offer:
    """Return what a run of one of the steps has made."""
    path = place = f"step-{number % STEPS}"
    key = f"{number:064x}"
    size, cost_s = chance.randint(1, 2 * MEAN_BYTES - 1), chance.lognormvariate(0, 1)
    made = NOON + timedelta(seconds=number)
    return Offer(key, RUN.workflow, place, size, cost_s, RUN.id, path, place, {}, (key,), made)


def measure(entries: int, offers: int, seed: int, folder: Path) -> list[Row]:
    """Fill a cache, and measure the floor and each policy on it, one after the other."""
    chance = random.Random(seed)
    rows: list[Row] = []
    with open_database(f"sqlite:///{folder}/couler.db") as database:
        create_run(database, RUN, '{"ir_version": 1}')
        fill(database, [offer(number, chance) for number in range(entries)])
        floor = statistics.median(
            milliseconds(partial(read_known, database))[0] for _ in range(offers)
        )
        rows.append(Row(entries, ROWS, floor, 0.0))
        number = entries
        for policy in (*policy_names(), EVERYTHING):
            judge = judge_of(policy, used_bytes(database))
            times: list[float] = []
            evicted = 0
            for given in (offer(number + more, chance) for more in range(offers)):
                taken, settled = milliseconds(partial(settle_offer, database, given, judge.settle))
                times.append(taken)
                evicted += len(settled.evicted)
            number += offers
            rows.append(Row(entries, policy, statistics.median(times), evicted / offers))
    return rows


def fill(database: Database, offers: Sequence[Offer]) -> None:
    """Keep what is offered: the first as an engine does, the others at once."""
    settle_offer(database, offers[0], Judge().settle)
    fields = ("key", "workflow", "step", "size_bytes", "cost_s", "run_id", "path", "place")
    rows = [
        {
            **{name: getattr(one, name) for name in fields},
            "outputs": {},
            "created": one.made,
            "last_used": one.made,
            "hits": 0,
            "pinned": False,
            "admitted": number,
            "used": number,
            "superseded": (len(offers) - number) // STEPS,
            "credit": 0.0,
        }
        for number, one in enumerate(offers[1:], 2)
    ]
    objects = [{"key": one.key, "digest": one.key} for one in offers[1:]]
    with database.write() as connection:
        connection.execute(sa.insert(cache_entries), rows)
        connection.execute(sa.insert(cache_objects), objects)
        connection.execute(sa.update(cache_clock).values(clock=len(offers)))


def judge_of(policy: str, budget_bytes: int) -> Judge:
    """Return who decides for a run that is at its start, with a cache that is full."""
    if policy == EVERYTHING:
        return Judge()
    ranks = {f"step-{number}": number for number in range(STEPS)}
    places = list(ranks)
    readers = {place: (after,) for place, after in itertools.pairwise(places)}
    course = Course(RUN.workflow, ranks, readers=readers)
    return Judge(Budget.choose(policy, budget_bytes), course)


def read_known(database: Database) -> Sequence[object]:
    with database.write() as connection:
        ledger = read_ledger(connection)
        return [*ledger.entries, *ledger.places]


def used_bytes(database: Database) -> int:
    with database.write() as connection:
        return read_ledger(connection).used_bytes()


def milliseconds(call: Callable[[], _Result]) -> tuple[float, _Result]:
    """Return what a call takes of a processor, and what it returns."""
    started = time.process_time()
    result = call()
    return 1e3 * (time.process_time() - started), result


def print_rows(rows: Sequence[Row]) -> None:
    """Print a line for each policy of a size."""
    floor = next(row.milliseconds for row in rows if row.policy == ROWS)
    for row in rows:
        ratio = row.milliseconds / floor
        print(
            f"{row.entries:7,} {row.policy:12} {row.milliseconds:9.2f} {ratio:7.2f} "
            f"{row.evicted:7.2f}",
            flush=True,
        )


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the benchmark."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--json", type=Path, metavar="OUT", help="write all rows there")
    parser.add_argument("--seed", type=int, default=1, help="of the entries; default %(default)s")
    parser.add_argument("--quick", action="store_true", help="few entries")
    options = parser.parse_args(arguments)
    print(f"{'entries':>7} {'policy':12} {'CPU ms':>9} {'of rows':>7} {'evicted':>7}")
    rows: list[Row] = []
    for entries in QUICK if options.quick else SIZES:
        with tempfile.TemporaryDirectory(prefix="couler-cache-settling-") as folder:
            some = measure(entries, OFFERS, options.seed, Path(folder))
        print_rows(some)
        rows += some
    if options.json is not None:
        document = {
            "schema_version": SCHEMA_VERSION,
            "seed": options.seed,
            "rows": [dataclasses.asdict(row) for row in rows],
        }
        options.json.write_text(json.dumps(document, indent=1) + "\n")


if __name__ == "__main__":
    main()
