"""What the tests' client of a real Airflow does when its database fails, or a DAG is read late."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from urllib.parse import urlsplit

import pytest

from tests.rest.faulty_server import FaultyServer, says
from tests.support.airflow_runs import AirflowError
from tests.support.airflow_stack import AirflowStack

DATABASE_FAULT = says(500, {"detail": {"reason": "Database error", "statement": "hidden"}})


@pytest.fixture
def server() -> Iterator[FaultyServer]:
    with FaultyServer().running() as running:
        yield running


@pytest.fixture
def stack(server: FaultyServer, tmp_path: Path) -> AirflowStack:
    return AirflowStack(tmp_path, port=urlsplit(server.address).port)


def test_it_asks_again_where_the_database_fails(server: FaultyServer, stack: AirflowStack) -> None:
    server.answers = [DATABASE_FAULT, DATABASE_FAULT, says(200, {"is_paused": False})]
    stack.unpause("ends")
    assert [method for method, *_ in server.asked] == ["PATCH"] * 3
    assert server.bodies == [{"is_paused": False}] * 3


def test_it_does_not_ask_again_for_any_other_reason(
    server: FaultyServer, stack: AirflowStack
) -> None:
    server.answers = [says(500, {"detail": "a bug"})]
    with pytest.raises(AirflowError, match=r"PATCH /dags/ends: 500 .*a bug"):
        stack.unpause("ends")
    server.answers = [says(404, {"detail": "Database error"})]
    with pytest.raises(AirflowError, match="404"):
        stack.call("GET", "/dags/x")
    assert stack.call("GET", "/dags/x", absent_ok=True) is None
    assert len(server.asked) == 3


def test_a_run_of_a_dag_that_is_gone_for_a_moment_is_asked_for_again(
    server: FaultyServer, stack: AirflowStack
) -> None:
    gone = says(404, {"detail": "Dag with dag_id: 'ends' not found"})
    server.answers = [gone, gone, says(200, {"dag_run_id": "any"})]
    run_id = stack.trigger("ends", {"n": 1})
    assert server.bodies == [{"dag_run_id": run_id, "logical_date": None, "conf": {"n": 1}}] * 3


def test_a_run_is_begun_once_though_the_answer_was_an_error(
    server: FaultyServer, stack: AirflowStack
) -> None:
    server.answers = [DATABASE_FAULT, says(409, {"detail": "it is there"})]
    run_id = stack.trigger("ends")
    assert [one["dag_run_id"] for one in server.bodies] == [run_id] * 2


def test_a_dag_that_is_gone_is_not_visible(server: FaultyServer, stack: AirflowStack) -> None:
    no_errors = says(200, {"import_errors": []})
    seen = [says(200, {"is_stale": stale}) for stale in (True, False)]
    server.answers = [no_errors, seen[0], no_errors, seen[1]]
    stack.wait_visible("ends")
    assert len(server.asked) == 4
