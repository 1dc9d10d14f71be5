"""Runs that make, take and give up objects of the same content, in any order.

Runs beside each other do on one database what comes by chance. The store is a dictionary with a
clock of its own, and somebody who needs no database for it may write in the middle of a deletion.
"""

from __future__ import annotations

import contextlib
import random
import socket
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from couler.state import (
    Database,
    Journal,
    RunRecord,
    begin_session,
    create_run,
    delete_run,
    open_database,
    own_run,
)
from couler.state.admission import (
    Eviction,
    Verdict,
    count_hit,
    evict_entries,
    hold_entry,
    settle_offer,
)
from couler.state.cache import list_entries
from couler.state.entries import Offer
from couler.state.holds import release_runs
from couler.state.leftovers import sweep_garbage
from tests.state.samples import IR

HERE = socket.gethostname()
CONTENTS = tuple(letter * 64 for letter in "abcdef")
START = datetime(2026, 1, 1, tzinfo=UTC)


@dataclass
class Run:
    name: str
    folder: Path
    lock: contextlib.ExitStack
    needs: set[str] = field(default_factory=set)
    put: list[str] = field(default_factory=list)
    """What it has stored and told nobody of."""
    is_live: bool = True


class World:
    """Runs in one home, and their store; nobody may find gone what it has made or taken."""

    lag_s = 0.0

    def __init__(self, database: Database, folder: Path, seed: int) -> None:
        self._database = database
        self._folder = folder
        self._chance = random.Random(seed)
        self._now = START
        self._objects: dict[str, datetime] = {}
        self.runs: list[Run] = []
        self._during: Callable[[], None] | None = None
        self.deleted = 0

    # the store ------------------------------------------------------------------------------------

    def size_of(self, digest: str) -> int | None:
        return 1 if digest in self._objects else None

    def delete(self, digest: str, *, before: float | None = None) -> bool:
        during, self._during = self._during, None
        if during is not None:
            during()
        written = self._objects.get(digest)
        if written is None or (before is not None and written.timestamp() >= before):
            return False
        del self._objects[digest]
        self.deleted += 1
        return True

    def _tick(self) -> datetime:
        self._now += timedelta(seconds=1)
        return self._now

    # what happens ---------------------------------------------------------------------------------

    def step(self) -> None:
        """Do something by chance, and look whether everybody has what it needs."""
        actions = [self.begin, self.store, self.store, self.offer, self.offer, self.take]
        self._chance.choice([*actions, self.evict, self.sweep, self.sweep, self.end])()
        for run in self.runs:
            assert run.needs <= self._objects.keys(), run
        with self._database.read() as connection:
            rows = connection.exec_driver_sql("SELECT digest FROM cache_objects").scalars()
            assert set(rows) <= self._objects.keys()

    def _live(self) -> list[Run]:
        return [run for run in self.runs if run.is_live]

    def begin(self) -> None:
        if len(self._live()) > 2:
            return
        now, lock = self._tick(), contextlib.ExitStack()
        name = f"r{now:%H%M%S}"
        run = Run(name, self._folder / name, lock)
        lock.enter_context(own_run(run.folder))
        record = RunRecord(name, "w", "0" * 64, "local", now, folder=str(run.folder), host=HERE)
        create_run(self._database, record, IR)
        begin_session(self._database, name, pid=1, host=HERE, started=now)
        self.runs.append(run)

    def store(self) -> None:
        for run in self._chance.sample(self._live(), k=min(1, len(self._live()))):
            self._store(run)

    def _store(self, run: Run) -> None:
        content = self._chance.choice(CONTENTS)
        self._objects[content] = self._tick()
        run.put.append(content)
        run.needs.add(content)

    def offer(self) -> None:
        able = [run for run in self._live() if run.put]
        if able:
            run, key = self._chance.choice(able), str(self._chance.randrange(4)) * 64
            made = Offer(
                *(key, "w", "s", 1, 1.0, run.name, key, key, {}, (run.put.pop(0),), self._tick())
            )
            admit = self._chance.random() < 0.7
            settle_offer(self._database, made, lambda _ledger, _offer: Verdict(admit, ""))

    def take(self) -> None:
        entries = list_entries(self._database)
        if not entries or not self._live():
            return
        run, entry = self._chance.choice(self._live()), self._chance.choice(entries)
        with self._database.read() as connection:
            text = "SELECT digest FROM cache_objects WHERE key = ?"
            digests = {row[0] for row in connection.exec_driver_sql(text, (entry.key,))}
        if self._chance.random() < 0.5:  # others were quicker
            self.evict()
            self.sweep()
        if hold_entry(self._database, entry, run.name, digests):
            run.needs |= digests
            if self._chance.random() < 0.5:
                self.evict()
            count_hit(self._database, entry, self._tick(), lambda _: 0.0)

    def evict(self) -> None:
        entries = list_entries(self._database)
        gone = self._chance.sample(entries, k=self._chance.randint(0, len(entries)))
        evict_entries(self._database, lambda _: [Eviction(entry.key, "") for entry in gone])

    def sweep(self) -> None:
        if self._live() and self._chance.random() < 0.5:
            writer = self._chance.choice(self._live())
            self._during = lambda: self._store(writer)
        sweep_garbage(self._database, self, host=HERE)
        self._during = None

    def end(self) -> None:
        if not self._live():
            return
        run = self._chance.choice(self._live())
        status = self._chance.choice(["succeeded", "succeeded", "failed", "killed"])
        told = run.needs - set(run.put)
        if status != "killed":
            with Journal(self._database, run.name, 1) as journal:
                journal.run_updated(status=status)  # type: ignore[arg-type]  # one of them
                journal.session_ended(status)  # type: ignore[arg-type]  # one of them
                journal.flush()
        run.lock.close()
        run.is_live = False
        # What it had told nobody of is lost to it, and another session makes it again.
        run.needs = set() if status == "succeeded" else told
        release_runs(self._database)
        ended = [one for one in self.runs if not one.is_live]
        for old in ended[:-1]:  # or all contents were needed by some run in the end
            delete_run(self._database, old.name)
            self.runs.remove(old)


@pytest.fixture
def world(tmp_path: Path, request: pytest.FixtureRequest) -> Iterator[World]:
    with open_database("sqlite://") as database:
        made = World(database, tmp_path, request.param)
        yield made
        for run in made.runs:
            run.lock.close()


@pytest.mark.parametrize("world", [2, 3], indirect=True)
def test_nobody_lacks_what_it_has_made_or_taken(world: World) -> None:
    for _ in range(250):
        world.step()
    assert world.deleted > 0
