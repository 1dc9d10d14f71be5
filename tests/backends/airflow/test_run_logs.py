"""What users see of logs, and what these tell of the ends of tries; entries as Airflow has them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, cast

import pytest

from couler.backends.airflow.remote import follow_log, lines_of, read_log
from couler.backends.airflow.try_ends import TryEnd, end_of_try

if TYPE_CHECKING:
    from couler.backends.airflow.rest import RunApi

POD = "airflow.providers.cncf.kubernetes.utils.pod_manager.PodManager"
FAILED = {"event": "Task failed with exception", "level": "error", "logger": "task"}


def entry(event: str, level: str = "info", logger: str = "task") -> dict[str, Any]:
    return {"event": event, "level": level, "logger": logger, "timestamp": "2026-03-01T12:00:00Z"}


@pytest.mark.parametrize(
    ("given", "lines"),
    [
        (entry("[base] hello", logger=POD), ["hello"]),
        (entry("[base] [base] twice\n", logger=POD), ["[base] twice"]),
        (entry("[base] one\n two\n", logger=POD), ["one", " two"]),
        (entry("[base] ", logger=POD), [""]),
        (entry("[proxy] ready", logger=POD), ["[proxy] ready"]),
        (entry("[base] not of a pod"), []),
        (entry("Building pod a-1", logger=POD), []),
        (entry("::group::Pre Execute"), []),
        (entry("printed", logger="task.stdout"), ["printed"]),
        (entry("Pod not found", "error", POD), ["airflow: Pod not found"]),
        (entry("Pod not found", "warning", POD), []),
        ({"event": "::group::Log message source details"}, []),
        (
            {**FAILED, "error_detail": [{"exc_type": "KeyError", "exc_value": "\n'x'\nmore"}]},
            ["airflow: Task failed with exception", "airflow: KeyError: 'x'"],
        ),
    ],
)
def test_lines_of_the_step_are_told_from_those_of_airflow(
    given: dict[str, Any], lines: list[str]
) -> None:
    assert list(lines_of(given)) == lines


def failed_pod(terminated: str, reason: str = "None", message: str = "None") -> dict[str, Any]:
    """Return an entry as the operator for pods leaves it, its pod cut down to what matters."""
    text = f"""Pod a-e2ur2maz returned a failure.
remote_pod: {{'api_version': 'v1',
 'kind': 'Pod',
 'spec': {{'containers': [{{'args': ["'container_statuses': ["],
                          'name': 'base'}}]}},
 'status': {{'conditions': [{{'message': None,
                           'reason': 'PodFailed'}}],
            'container_statuses': [{{'image': 'busybox:1.36',
                                    'last_state': None,
                                    'name': 'base',
                                    'state': {{'running': None,
                                              'terminated': {terminated},
                                              'waiting': None}}}},
                                   {{'name': 'airflow-xcom-sidecar',
                                    'state': {{'running': None,
                                              'terminated': {{'exit_code': 0,
                                                             'message': None,
                                                             'reason': 'Completed'}},
                                              'waiting': None}}}}],
            'message': {message},
            'phase': 'Failed',
            'reason': {reason}}}}}"""
    return {**FAILED, "error_detail": [{"exc_type": "AirflowException", "exc_value": text}]}


def ended(code: int, reason: str, message: str = "None") -> str:
    return f"""{{'container_id': None,
                                                             'exit_code': {code},
                                                             'message': {message},
                                                             'reason': '{reason}',
                                                             'signal': None}}"""


@pytest.mark.parametrize(
    ("given", "end"),
    [
        (
            failed_pod(ended(3, "Error")),
            TryEnd("it ended with exit code 3", 3, is_failure=True),
        ),
        (
            failed_pod(ended(137, "OOMKilled")),
            TryEnd("it ended with exit code 137 (OOMKilled)", 137, is_failure=True),
        ),
        (
            failed_pod(ended(2, "Error", "'no \\'model\\' '\n  'there'")),
            TryEnd("it ended with exit code 2: no 'model' there", 2, is_failure=True),
        ),
        (
            failed_pod(ended(125, "Error", "'couler error: the process did not write x'")),
            TryEnd("the process did not write x"),
        ),
        (
            failed_pod(ended(1, "Error", "'couler failure: the container proxy ended'")),
            TryEnd("the container proxy ended", is_failure=True),
        ),
        (
            failed_pod(ended(128, "StartError", "'no such file'")),
            TryEnd("StartError: no such file"),
        ),
        (
            failed_pod("None", "'Evicted'", "'The node was low on memory.'"),
            TryEnd("Evicted: The node was low on memory."),
        ),
        (failed_pod("None"), TryEnd("Pod a-e2ur2maz returned a failure.")),
        (
            {**FAILED, "error_detail": [{"exc_type": "RuntimeError", "exc_value": "404: gone"}]},
            TryEnd("404: gone", is_failure=True),
        ),
        (
            {
                **FAILED,
                "error_detail": [
                    {"exc_type": "MaxRetryError", "exc_value": "Max retries exceeded"},
                    {"exc_type": "ConnectionRefusedError", "exc_value": "refused"},
                ],
            },
            TryEnd("Max retries exceeded"),
        ),
        (entry("Process terminated by signal", "error"), TryEnd("Process terminated by signal")),
        (entry("Task killed!", "error"), TryEnd(was_killed=True)),
        (entry("all is well"), TryEnd()),
    ],
)
def test_a_log_tells_how_a_try_ended(given: dict[str, Any], end: TryEnd) -> None:
    assert end_of_try([entry("Building pod"), given, entry("::endgroup::")]) == end


class Log:
    """Stands for a run whose log is known."""

    def __init__(self, *entries: dict[str, Any]) -> None:
        self.entries = list(entries)

    def log(self, *_: object) -> list[dict[str, Any]]:
        return self.entries


def read(*entries: dict[str, Any]) -> list[str]:
    return read_log(cast("RunApi", Log(*entries)), ("a", -1), 1)


def test_what_airflow_reads_anew_is_told_once() -> None:
    again = "Pod a-1 log read interrupted but container base still running. Logs may be doubled."
    lines = [entry(f"[base] {word}", logger=POD) for word in ("one", "two")]
    assert read(*lines, entry(again, "warning", POD), lines[1], *lines[:1]) == ["one", "two", "one"]


def test_a_log_that_is_away_is_told() -> None:
    away = {"event": "Could not read served logs: no route"}
    assert read(away) == ["airflow: Could not read served logs: no route"]
    assert read(away, entry("[base] hello", logger=POD)) == ["hello"]


def test_a_log_is_followed_from_where_it_was() -> None:
    log = Log({"event": "Could not read served logs: not yet"})
    coming = [[], [entry("[base] one", logger=POD)], [entry("[base] two", logger=POD)]]

    def is_over() -> bool:
        log.entries += coming.pop(0)
        return not coming

    run = cast("RunApi", log)
    lines = follow_log(run, ("a", -1), 1, is_over=is_over, between_s=0, sleep=lambda _: None)
    assert list(lines) == ["one", "two"]
