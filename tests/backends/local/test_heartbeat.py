"""Sessions tell that they go on."""

from __future__ import annotations

import asyncio
from datetime import datetime
from pathlib import Path

import pytest

from couler.backends.base import RunOptions
from couler.backends.local import LocalBackend, heartbeat
from couler.backends.local.heartbeat import signs_of_life
from couler.errors import StateError
from couler.state import (
    Database,
    list_runs,
    open_database,
    sessions_of,
)
from couler.state.home import Home
from tests.corpus.build import flow, sh


@pytest.fixture(autouse=True)
def _often(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(heartbeat, "PERIOD_S", 0.001)


def test_a_sign_that_cannot_be_written_ends_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    told: list[int] = []

    def fail(_database: Database, _run: str, session: int, _seen: datetime) -> None:
        told.append(session)
        raise StateError("the database is locked")

    async def wait(database: Database) -> None:
        async with signs_of_life(database, "r1", 1):
            while len(told) < 3:
                await asyncio.sleep(0.001)

    monkeypatch.setattr(heartbeat, "note_session", fail)
    with open_database(Home(tmp_path).database_url) as database:
        asyncio.run(wait(database))
    assert told[:3] == [1, 1, 1]


def test_a_run_gives_signs_of_life(tmp_path: Path) -> None:
    workflow = flow("w", sh("wait", "sleep 0.3"))
    LocalBackend().run(workflow, options=RunOptions(home=tmp_path))
    with open_database(Home(tmp_path).database_url) as database:
        (run,) = list_runs(database)
        (session,) = sessions_of(database, run.id)
    assert session.seen is not None
    assert session.finished is not None
    assert session.started < session.seen <= session.finished
