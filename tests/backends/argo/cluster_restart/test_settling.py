"""What is left for Argo's controller to do, on given times."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from couler.backends.argo.settling import OldPod, deleted_at, left_s

NOON = datetime(2026, 3, 1, 12, tzinfo=UTC)


@pytest.mark.parametrize(
    ("ends", "whole_s", "expected"),
    [
        ([], 35.0, 0.0),
        ([None], 35.0, 0.0),
        ([100], 35.0, 0.0),
        ([20, None], 35.0, 15.0),
        ([20, 5], 35.0, 30.0),
        ([-3600], 35.0, 35.0),  # a clock that is slow
        ([300], 605.0, 305.0),
    ],
)
def test_what_is_left_of_a_wait(ends: list[int | None], whole_s: float, expected: float) -> None:
    found = [None if one is None else NOON - timedelta(seconds=one) for one in ends]
    assert left_s(found, whole_s, NOON) == expected


@pytest.mark.parametrize(
    ("cleanup", "phases", "expected"),
    [
        ("OnPodCompletion", ("Failed", "Failed"), 30),
        ("OnPodSuccess", ("Failed", "Succeeded"), None),
        ("OnPodSuccess", ("Succeeded", "Failed"), 30),
        ("OnWorkflowCompletion", ("Failed", "Failed"), 60),
        ("OnWorkflowSuccess", ("Succeeded", "Failed"), None),
        ("OnWorkflowSuccess", ("Succeeded", "Succeeded"), 60),
        ("", ("Failed", "Failed"), None),
        ("OnPodNone", ("Failed", "Failed"), None),
    ],
)
def test_when_a_pod_is_deleted(cleanup: str, phases: tuple[str, str], expected: int | None) -> None:
    of_pod, of_run = phases
    pod = OldPod(30.0, False, None, of_pod, cleanup, 20.0)
    workflow = {"status": {"phase": of_run, "finishedAt": "2026-03-01T12:00:40Z"}}
    found = deleted_at(pod, {"finishedAt": "2026-03-01T12:00:10Z"}, workflow)
    assert found == (None if expected is None else NOON + timedelta(seconds=expected))
    assert deleted_at(pod._replace(is_done=True), {}, workflow) is None
    assert deleted_at(pod._replace(delay_s=0.0), {}, workflow) is None
