"""Which attempts are read for what they tell of speeds, and how many."""

from __future__ import annotations

from couler.state import Database
from couler.state.history import Try, list_tries, workflows_of
from tests.support.recorded_runs import RecordedRuns

IR = '{"profile": {"operations": 1}}'


def tries(database: Database, **limits: int) -> list[Try]:
    return list_tries(database, **{"runs_at_most": 9, "latest": 9, "at_most": 99, **limits})


def test_the_latest_come_first_and_no_more_than_asked_for(database: Database) -> None:
    runs = RecordedRuns(database)
    runs.add("local", {"a": 1.0, "b": 2.0}, ir=IR, node="n1")
    runs.add("argo", {"a": 3.0}, ir=IR, node="n1")
    runs.add("local", {"a": 9.0}, ir='{"no": "profile"}', node="n1")
    runs.add("local", {"each[0]/in": 4.0, "each[1]/in": 5.0, "a": 6.0}, ir=IR, node="n1")
    found = tries(database)
    seen = [(one.path, one.seconds, one.is_here) for one in found]
    assert seen == [
        ("a", 6.0, True),
        ("each[1]/in", 5.0, True),
        ("each[0]/in", 4.0, True),
        ("a", 3.0, False),
        ("b", 2.0, True),
        ("a", 1.0, True),
    ]
    assert {one.node for one in found} == {"n1"}
    assert [one.seconds for one in tries(database, at_most=2)] == [6.0, 5.0]
    assert [one.seconds for one in tries(database, runs_at_most=1)] == [6.0, 5.0, 4.0]
    # One of each step and machine, here and elsewhere apart.
    assert [one.seconds for one in tries(database, latest=1)] == [6.0, 5.0, 3.0, 2.0]
    digests = {one.workflow_digest for one in found}
    assert workflows_of(database, digests) == dict.fromkeys(digests, IR)


def test_only_what_succeeded_tells_how_long_it_takes(database: Database) -> None:
    run = RecordedRuns(database).add("local", {"a": 1.0}, ir=IR)
    assert [one.node for one in tries(database)] == [None]
    with database.write() as connection:
        connection.exec_driver_sql(f"update attempts set status = 'failed' where run_id = '{run}'")
    assert tries(database) == []
    assert workflows_of(database, []) == {}
