"""Which attempts are read for what they tell of speeds, and how many."""

from __future__ import annotations

from couler.state import Database
from couler.state.history import Try, list_tries, workflows_of
from tests.support.recorded_runs import RecordedRuns

IR = '{"profile": {"operations": 1}}'


def tries(database: Database, **limits: int) -> list[Try]:
    return list_tries(database, **{"runs_at_most": 9, "latest": 9, "at_most": 99, **limits})


def test_only_what_succeeded_tells_how_long_it_takes(database: Database) -> None:
    run = RecordedRuns(database).add("local", {"a": 1.0}, ir=IR)
    assert [one.node for one in tries(database)] == [None]
    with database.write() as connection:
        connection.exec_driver_sql(f"update attempts set status = 'failed' where run_id = '{run}'")
    assert tries(database) == []
    assert workflows_of(database, []) == {}
