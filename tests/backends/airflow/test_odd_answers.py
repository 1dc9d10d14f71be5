"""Answers of something that is no Airflow."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from couler.backends.airflow.rest import AirflowApi, RunApi
from couler.errors import EngineError, RefusedError
from couler.rest.client import RestClient
from couler.rest.patience import Patience
from tests.rest.faulty_server import FaultyServer, says

OTHERS: list[object] = [
    [],
    "x",
    7,
    {"task_instances": "x", "import_errors": 1},
    {"task_instances": ["x"]},
]


CALLS: dict[str, Callable[[RunApi], object]] = {
    "tasks": lambda run: run.tasks(),
    "tries": lambda run: run.tries(("a", -1)),
    "clear": lambda run: run.clear([("a", -1)], dry=True, latest=False),
}


@pytest.mark.parametrize("answer", OTHERS, ids=repr)
@pytest.mark.parametrize("call", CALLS)
def test_what_no_airflow_answers(server: FaultyServer, call: str, answer: object) -> None:
    server.answers = [says(200, answer)]
    with (
        RestClient(
            "airflow", server.address, extra="airflow-client", patience=Patience(0.0, 0.0, 0.0)
        ) as client,
        pytest.raises(EngineError, match=r"airflow: .* was answered with something else") as caught,
    ):
        CALLS[call](RunApi(AirflowApi(client), "flow", "r1"))
    assert not isinstance(caught.value, RefusedError)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("answer", [[], "x", 7], ids=repr)
def test_values_and_logs_of_no_airflow(server: FaultyServer, answer: object) -> None:
    server.answers = [says(200, answer)]
    client = RestClient(
        "airflow", server.address, extra="airflow-client", patience=Patience(0.0, 0.0, 0.0)
    )
    with client:
        run = RunApi(AirflowApi(client), "flow", "r1")
        for asked in (lambda: run.returned(("a", -1)), lambda: run.log(("a", -1), 1)):
            with pytest.raises(EngineError, match="was answered with something else"):
                asked()
