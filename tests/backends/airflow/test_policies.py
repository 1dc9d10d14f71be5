"""Parameters and policies of a step as they stand in a DAG file, for new and older versions."""

from __future__ import annotations

import typing as t

import pytest

from couler.backends.airflow import AirflowBackend
from couler.backends.airflow.check import check_values
from couler.backends.airflow.module import Module
from couler.backends.airflow.parameters import parameter
from couler.backends.airflow.policies import policy_fields
from couler.backends.airflow.python import value_of
from couler.backends.base import Target
from couler.ir.policies import Backoff, Mutex, Retry
from couler.ir.storage import ConfigKey
from couler.ir.values import ValueType
from couler.ir.workflow import ExitHandler, Parameter, Step
from tests.corpus.build import flow, group, sh


def shown(step: Step, version: tuple[int, int] = (3, 3)) -> dict[str, str]:
    """The fields of a step's operator as source."""
    fields = policy_fields(step, Module(), version)
    return {name: value_of(one).flat() for name, one in fields.items()}


@pytest.mark.parametrize(
    ("retry", "expected"),
    [
        (Retry(limit=0), {}),
        (Retry(limit=2), {"retries": "2", "retry_delay": "timedelta(seconds=0)"}),
        (
            Retry(limit=1, backoff=Backoff(seconds=0.5, factor=1)),
            {"retries": "1", "retry_delay": "timedelta(seconds=0.5)"},
        ),
        (
            Retry(limit=1, backoff=Backoff(seconds=60, factor=1, cap_s=10)),
            {"retries": "1", "retry_delay": "timedelta(seconds=10)"},
        ),
        (
            Retry(limit=1, backoff=Backoff(seconds=60, factor=1.5, cap_s=90)),
            {
                "retries": "1",
                "retry_delay": "timedelta(seconds=60)",
                "retry_exponential_backoff": "1.5",
                "max_retry_delay": "timedelta(seconds=90)",
            },
        ),
        (
            Retry(limit=1, on=("error",), exit_codes=(75,)),
            {
                "retries": "1",
                "retry_delay": "timedelta(seconds=0)",
                "retry_policy": 'retry_if(kind="error", exit_codes=[75])',
            },
        ),
    ],
)
def test_retries(retry: Retry, expected: dict[str, str]) -> None:
    assert shown(sh("a", "true", retry=retry)) == expected


def test_errors_that_pass_are_told_by_reasons_statuses_and_classes() -> None:
    policy = shown(sh("a", "true", retry=Retry(limit=1, on=("transient",))))["retry_policy"]
    assert policy.startswith('retry_if(kind="error", passing=[')
    assert all(f'"{word}"' in policy for word in ("Evicted", "NodeLost", "TimeoutError"))
    assert " 429, " in policy
    assert "DeadlineExceeded" not in policy


def test_a_lock_is_a_pool_and_notes_say_what_must_be() -> None:
    step = sh("a", "true", mutex="disk", timeout_s=1.5)
    assert shown(step) == {"execution_timeout": "timedelta(seconds=1.5)", "pool": '"disk"'}
    size = Parameter(name="n", type="int", config=ConfigKey(config_map="site", key="n"))
    workflow = flow("locks", step, sh("b", "true", mutex="disk"), parameters=[size])
    assert AirflowBackend().compile(workflow, Target()).notes == (
        'config map "site" with the keys n must exist',
        'pool "disk" with one slot must exist in Airflow, or its tasks never start',
        "the workers of Airflow must be allowed to list config maps",
    )


def codes(*steps: Step, version: tuple[int, int] = (3, 3), **fields: t.Any) -> list[str]:
    """What a workflow of steps asks for in vain."""
    return [one.code for one in check_values(flow("asks", *steps, **fields), version)]


def test_what_cannot_be_done_is_refused() -> None:
    assert codes(sh("a", "true", mutex="x")) == []
    assert codes(sh("a", "true", mutex="x", locks=[Mutex(name="y")])) == ["CLR345"]
    assert codes(group("g", sh("a", "true"), mutex="x")) == ["CLR345"]
    handler = ExitHandler(name="end", on="any", steps=(sh("say", "true"),))
    assert codes(sh("a", "true"), timeout_s=1) == []
    assert codes(sh("a", "true"), timeout_s=1, exit_handlers=[handler]) == ["CLR346"]


@pytest.mark.parametrize(
    ("retry", "count"),
    [
        (Retry(limit=1, exit_codes=(1,), backoff=Backoff(seconds=1, factor=3)), 2),
        (Retry(limit=1, on=("failure",)), 1),
        (Retry(limit=0, on=("failure",)), 0),
        (Retry(limit=1, backoff=Backoff(seconds=1)), 0),
        (Retry(limit=1, backoff=Backoff(seconds=1, factor=1)), 0),
    ],
)
def test_older_versions_refuse_what_they_cannot_tell(retry: Retry, count: int) -> None:
    step = sh("a", "true", retry=retry)
    assert codes(step, version=(3, 1)) == ["CLR347"] * count
    assert codes(step) == []


@pytest.mark.parametrize(
    ("kind", "default", "expected"),
    [
        ("str", "a", 'Param("a", type="string")'),
        ("int", 1, "Param(1, **INTEGER)"),
        ("bool", True, 'Param(True, type=["boolean", "string"], pattern="^(true|false)$")'),
        ("list", (1,), 'Param([1], type="array")'),
        ("dict", {"a": 1}, 'Param({"a": 1}, type="object")'),
        ("json", None, "Param(None)"),
    ],
)
def test_parameters_have_types(kind: ValueType, default: object, expected: str) -> None:
    given = Parameter(name="p", type=kind, default=default)
    assert parameter(given, Module()).flat() == expected
