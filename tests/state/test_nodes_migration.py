"""A database from before attempts told where they ran."""

from __future__ import annotations

from datetime import timedelta
from pathlib import Path

import sqlalchemy as sa

from couler.state import Journal, attempts_of, begin_session, open_database
from couler.state.history import list_tries
from couler.state.tables import attempts, runs, workflows
from tests.state.samples import NOON
from tests.support.old_databases import make_database

IR = '{"steps":[{"profile":{"operations":1e9}}]}'


def test_attempts_stay_and_their_nodes_are_not_known(url: str, tmp_path: Path) -> None:
    (tmp_path / "home").mkdir()
    make_database(url, "0009")
    engine = sa.create_engine(url)
    names = ("run_id", "path", "number", "session", "status", "log_from")
    old = sa.table(
        "attempts", *map(sa.column, names), sa.column("started", attempts.c.started.type)
    )
    with engine.begin() as connection:
        row = {"digest": "w", "name": "train", "ir": IR, "created": NOON}
        connection.execute(sa.insert(workflows).values(**row))
        run = {"id": "r1", "workflow_digest": "w", "workflow": "train", "engine": "local"}
        more = {"status": "failed", "parameters": {}, "outputs": {}, "created": NOON}
        connection.execute(sa.insert(runs).values(**run, **more))
        attempt = {"run_id": "r1", "path": "fit", "number": 1, "session": 1, "status": "failed"}
        connection.execute(sa.insert(old).values(**attempt, log_from=7, started=NOON))
    engine.dispose()
    with open_database(url) as database:
        [before] = attempts_of(database, "r1")
        assert (before.path, before.log_from, before.node) == ("fit", 7, None)
        session = begin_session(database, "r1", pid=1, host="h", started=NOON)
        with Journal(database, "r1", session) as journal:
            journal.attempt_started("fit", 2, started=NOON, node="n1")
            end = NOON + timedelta(seconds=2)
            journal.attempt_ended("fit", 2, status="succeeded", finished=end)
            journal.flush()
        assert [one.node for one in attempts_of(database, "r1")] == [None, "n1"]
        assert list_tries(database, runs_at_most=9, latest=9, at_most=9) == []  # no step has ended
