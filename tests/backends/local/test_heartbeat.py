"""Sessions tell that they go on."""

from __future__ import annotations

from pathlib import Path

import pytest

from couler.backends.base import RunOptions
from couler.backends.local import LocalBackend, run
from couler.state import (
    list_runs,
    open_database,
    sessions_of,
)
from couler.state.home import Home
from tests.corpus.build import flow, sh


@pytest.fixture(autouse=True)
def _often(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(run, "PERIOD_S", 0.001)


def test_a_run_gives_signs_of_life(tmp_path: Path) -> None:
    workflow = flow("w", sh("wait", "sleep 0.3"))
    LocalBackend().run(workflow, options=RunOptions(home=tmp_path))
    with open_database(Home(tmp_path).database_url) as database:
        (run,) = list_runs(database)
        (session,) = sessions_of(database, run.id)
    assert session.seen is not None
    assert session.finished is not None
    assert session.started < session.seen <= session.finished
