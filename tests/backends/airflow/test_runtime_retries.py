"""Functions of DAG files that tell which failures are tried again."""

from __future__ import annotations

import typing as t
from types import SimpleNamespace

import pytest

from couler.backends.airflow.policies import PASSING_ERRORS
from couler.backends.airflow.runtime import end_of, is_passing


def pod(code: int, message: str | None = None, reason: str = "Error", lost: str = "") -> t.Any:
    """A pod whose process has ended."""
    ended = SimpleNamespace(exit_code=code, message=message, reason=reason)
    base = SimpleNamespace(name="base", state=SimpleNamespace(terminated=ended))
    other = SimpleNamespace(name="other", state=SimpleNamespace(terminated=None))
    return SimpleNamespace(
        status=SimpleNamespace(reason=lost or None, container_statuses=[other, base])
    )


@pytest.mark.parametrize(
    ("found", "expected"),
    [
        (None, ("error", None)),
        (pod(0), ("error", None)),
        (pod(125), ("failure", 125)),
        (pod(125, "of the process: couler error: "), ("failure", 125)),
        (pod(125, "couler error: there is no output"), ("error", None)),
        (pod(3, "couler failure: the container x"), ("failure", None)),
        (pod(128), ("failure", 128)),
        (pod(128, "no such file", "StartError"), ("error", None)),
        (pod(137, reason="OOMKilled"), ("failure", 137)),
        (pod(137, lost="Evicted"), ("error", None)),
        (pod(143, lost="DeadlineExceeded"), ("failure", None)),
    ],
)
def test_how_a_pod_has_failed(found: t.Any, expected: tuple[str, int | None]) -> None:
    assert end_of(found) == expected


class AnswerError(Exception):
    def __init__(self, status: int) -> None:
        self.status = status


class XComRetrievalError(Exception):
    pass


class WebSocketException(Exception):  # noqa: N818 - named as in the library
    pass


class WebSocketBadStatusException(WebSocketException):
    pass


def while_handling(first: Exception) -> Exception:
    """Return an error that came up while another was handled, as Python chains them."""
    error = ValueError("Pod train-1 returned a failure.")
    error.__context__ = first
    return error


GONE = ValueError("Xcom sidecar container is already terminated! Not possible")


@pytest.mark.parametrize(
    ("found", "error", "expected"),
    [
        (None, AnswerError(429), True),
        (None, AnswerError(404), False),
        (None, ConnectionResetError(), True),
        (None, ValueError(), False),
        (pod(0), ValueError(), False),
        (pod(137, lost="Evicted"), ValueError(), True),
        (pod(143, lost="DeadlineExceeded"), ValueError(), False),
        (pod(0), while_handling(GONE), True),
        (pod(0), while_handling(while_handling(GONE)), True),
        (pod(0), while_handling(XComRetrievalError("not running! Not possible")), True),
        (pod(0), while_handling(AnswerError(429)), True),
        (pod(0), while_handling(while_handling(WebSocketBadStatusException("400"))), True),
        (pod(0), while_handling(ValueError("another error")), False),
    ],
)
def test_which_errors_pass(found: t.Any, error: Exception, expected: bool) -> None:
    known = ["Evicted", 429, *PASSING_ERRORS]
    assert is_passing(found, error, known) is expected
