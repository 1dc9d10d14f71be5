"""Runs that an earlier version has left, under a budget that it did not know."""

from __future__ import annotations

from pathlib import Path

import pytest
import sqlalchemy as sa

from couler.backends.base import RunOptions
from couler.backends.local import LocalBackend
from couler.budget.cleaning import clean_cache
from couler.budget.judging import Budget, Judge
from couler.budget.keeping import keep_budget
from couler.errors import StoreError
from couler.state import open_database
from couler.state.holds import complete_holds
from couler.state.home import Home
from couler.state.runs import delete_run
from couler.state.tables import run_directories, runs
from couler.store import ObjectStore
from tests.support.old_databases import make_failed_run

RUN = "letters-06b729b9"
NOTHING = Judge(Budget.choose("lru", 0))


@pytest.fixture
def home(tmp_path: Path) -> Home:
    home = Home(tmp_path / "home")
    make_failed_run(home)
    return home


def contents(home: Home) -> list[str]:
    """What the files in the store say; lists of directories in a word."""
    store = ObjectStore(home.store_url)
    found = []
    for item in store.objects():
        path = store.local_path(f"{item.digest}/x")
        assert path is not None
        text = path.read_text()
        found.append("list" if text.startswith("{") else text.strip())
    return sorted(found)


@pytest.mark.parametrize("by_gc", [True, False])
def test_a_failed_run_keeps_what_is_in_its_directories(home: Home, by_gc: bool) -> None:
    store = ObjectStore(home.store_url)
    with open_database(home.database_url) as database:
        if by_gc:
            foreseen = clean_cache(database, store, NOTHING, dry_run=True)
            cleaned = clean_cache(database, store, NOTHING)
            assert (len(cleaned.evicted), cleaned.objects) == (2, 0)
            assert foreseen == cleaned
        else:
            assert len(keep_budget(database, store, NOTHING)) == 2
    assert contents(home) == ["list", "list", "one", "start", "three", "two"]
    planned = LocalBackend().plan_retry(RUN, options=RunOptions(home=home.root))
    states = {step.path: step.verdict for step in planned}
    assert states == {"begin": "reused", "kept": "reused", "own": "reused", "check": "runs"}


def test_a_succeeded_run_leaves_to_the_cache_what_is_of_it(home: Home) -> None:
    """`two` is in a directory without a cache as well."""
    store = ObjectStore(home.store_url)
    with open_database(home.database_url) as database:
        with database.write() as connection:
            connection.execute(sa.update(runs).values(status="succeeded"))
        keep_budget(database, store, NOTHING)
        assert contents(home) == ["list", "three", "two"]
        delete_run(database, RUN)
        keep_budget(database, store, NOTHING)
    assert contents(home) == []


def test_a_directory_whose_list_is_lost_holds_nothing_up(home: Home) -> None:
    store = ObjectStore(home.store_url)
    with open_database(home.database_url) as database:
        with database.read() as connection:
            noted = connection.execute(sa.select(run_directories.c.reference)).scalars().all()
        for reference in noted:
            store.delete(reference.partition("/")[0])
        keep_budget(database, store, NOTHING)
    assert contents(home) == ["start", "three"]


def test_nothing_is_deleted_while_the_store_cannot_tell(home: Home) -> None:
    class Unreachable(ObjectStore):
        def digests(self, text: str) -> tuple[str, ...]:
            raise StoreError("the store is gone")

    with open_database(home.database_url) as database:
        with pytest.raises(StoreError):
            complete_holds(database, Unreachable(home.store_url))
        keep_budget(database, Unreachable(home.store_url), NOTHING)
        assert len(contents(home)) == 6
        complete_holds(database, ObjectStore(home.store_url))
        with database.read() as connection:
            assert connection.execute(sa.select(run_directories)).all() == []
