"""A database for each test: SQLite, and in slow tests PostgreSQL as well."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from datetime import timedelta
from pathlib import Path

import pytest

from couler.state import Database, RunRecord, begin_session, create_run, open_database
from couler.store import ObjectStore
from tests.state.samples import DIGEST, IR, NOON


@pytest.fixture(params=["sqlite", pytest.param("postgresql", marks=pytest.mark.slow)])
def url(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """URL of a database that does not exist yet."""
    if request.param == "sqlite":
        return f"sqlite:///{tmp_path / 'home' / 'couler.db'}"
    found: str = request.getfixturevalue("postgresql_url")
    return found


@pytest.fixture
def database(url: str) -> Iterator[Database]:
    with open_database(url) as opened:
        yield opened


@pytest.fixture
def add_run(database: Database) -> Callable[..., RunRecord]:
    """Record a run; each is a minute younger than the one before."""
    minutes = iter(range(1000))

    def add(run_id: str, *, digest: str = DIGEST, **fields: object) -> RunRecord:
        fields = {"workflow": "train", "engine": "local"} | fields
        created = NOON + timedelta(minutes=next(minutes))
        run = RunRecord(id=run_id, workflow_digest=digest, created=created, **fields)  # type: ignore[arg-type]  # fields of the record
        create_run(database, run, IR)
        return run

    return add


@pytest.fixture
def two_runs(add_run: Callable[..., RunRecord]) -> None:
    """The runs `r1` and `r2`."""
    for run_id in ("r1", "r2"):
        add_run(run_id)


@pytest.fixture
def store(tmp_path: Path) -> ObjectStore:
    return ObjectStore(f"file://{tmp_path}/store")


@pytest.fixture
def session(database: Database, add_run: Callable[..., RunRecord]) -> int:
    """The first session of the run `r1`."""
    add_run("r1")
    return begin_session(database, "r1", pid=1, host="here", started=NOON)
