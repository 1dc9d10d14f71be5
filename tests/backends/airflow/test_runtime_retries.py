"""Functions of DAG files that tell which failures are tried again."""

from __future__ import annotations

from types import SimpleNamespace

import pytest

from couler.backends.airflow.runtime_retries import is_passing

KNOWN: list[str | int] = ["Evicted", 429, "ConnectionError"]
SIDECAR = "Xcom sidecar container is already terminated! Not possible to read xcom output of task."


def pod(reason: str | None = None) -> SimpleNamespace:
    return SimpleNamespace(status=SimpleNamespace(reason=reason))


def failed(while_: Exception | None = None, **fields: object) -> Exception:
    """Return an error of Airflow, with the one that it came up while handling."""
    error = RuntimeError("Pod train-1 returned a failure.")
    error.__context__ = while_
    for name, value in fields.items():
        setattr(error, name, value)
    return error


@pytest.mark.parametrize(
    ("of", "error", "passes"),
    [
        (pod("Evicted"), failed(), True),
        (pod(), failed(status=429), True),
        (None, ConnectionResetError("cut"), True),
        (pod(), failed(RuntimeError(SIDECAR)), True),
        (pod(), failed(RuntimeError("another")), False),
        (pod("DeadlineExceeded"), failed(), False),
        (pod(), failed(status=403), False),
        (None, failed(), False),
    ],
)
def test_errors_that_pass_are_told_by_pod_status_class_and_sidecar(
    of: SimpleNamespace | None, error: Exception, passes: bool
) -> None:
    assert is_passing(of, error, KNOWN) is passes
