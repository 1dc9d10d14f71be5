"""How a task's try ended, by the error that Airflow has logged."""

from __future__ import annotations

import json

import pytest

from couler.backends.airflow.try_ends import end_of_try
from couler.failures import recognise


def refused(status: int, reason: str, body: str) -> str:
    """An error as the client of Kubernetes writes it."""
    headers = "HTTPHeaderDict({'Content-Type': 'application/json'})"
    return (
        f"({status})\nReason: {reason}\nHTTP response headers: {headers}\n"
        f"HTTP response body: {body}\n"
    )


QUOTA = 'pods "a" is forbidden: exceeded quota: q, requested: pods=1, used: pods=2, limited: pods=2'


@pytest.mark.parametrize(
    ("status", "reason", "body", "message", "name"),
    [
        (
            403,
            "Forbidden",
            json.dumps({"kind": "Status", "message": QUOTA, "reason": "Forbidden"}),
            f"{QUOTA} (HTTP 403)",
            "ExceededQuotaErr",
        ),
        (429, "Too Many Requests", "", "Too Many Requests (HTTP 429)", "TooManyRequestsErr"),
        (
            503,
            "Service Unavailable",
            "<html>",
            "Service Unavailable (HTTP 503)",
            "ServiceUnavailableErr",
        ),
        (500, "Internal", '["no", "status"]', "Internal (HTTP 500)", "InternalServerErr"),
    ],
)
def test_a_refusal_of_kubernetes_is_told_by_its_message(
    status: int, reason: str, body: str, message: str, name: str
) -> None:
    detail = {"exc_type": "ApiException", "exc_value": refused(status, reason, body)}
    end = end_of_try([{"level": "error", "event": "Task failed", "error_detail": [detail]}])
    assert (end.message, end.is_failure) == (message, False)
    found = recognise(end.message, system="airflow")
    assert found is not None
    assert found.pattern.name == name
