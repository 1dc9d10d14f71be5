"""A large workflow in parts comes to the same on this machine as without them."""

from __future__ import annotations

import typing as t
from pathlib import Path

import pytest

from couler import stages
from couler.backends.base import RunOptions
from couler.ir.workflow import Workflow
from tests.support.large_workflows import layered

pytestmark = [pytest.mark.slow, pytest.mark.timeout(1800)]

PARTS = "split{group_steps=40, run_steps=260}"


def outcome(workflow: Workflow, home: Path) -> tuple[str, t.Any, dict[str, str]]:
    """Run a workflow; how it ended, what it gave, and how each step ended."""
    result = stages.run(workflow, options=RunOptions(home=home, jobs=4))
    return (
        result.status,
        dict(result.outputs),
        {path: one.status for path, one in result.steps.items()},
    )


def test_a_thousand_steps_in_parts_end_as_without(tmp_path: Path) -> None:
    workflow = layered(1000, 20)
    planned = stages.plan(workflow, passes=[PARTS]).workflow
    parts = {step.part for step in planned.steps}
    assert None not in parts
    assert len({part.run for part in parts if part}) >= 4
    assert len(parts) >= 25
    status, outputs, steps = outcome(workflow, tmp_path / "whole")
    assert outcome(planned, tmp_path / "parts") == (status, outputs, steps)
    assert (status, set(steps.values()), len(steps)) == ("succeeded", {"succeeded"}, 1000)
    assert outputs["last"] == expected(1000, 20)


def test_failures_take_the_same_steps_with_them(tmp_path: Path) -> None:
    workflow = layered(200, 20, fails=frozenset({"s45", "s131"}))
    planned = stages.plan(workflow, passes=["split{group_steps=25, run_steps=80}"]).workflow
    status, outputs, steps = outcome(workflow, tmp_path / "whole")
    assert outcome(planned, tmp_path / "parts") == (status, outputs, steps)
    assert status == "failed"
    assert {"failed", "succeeded", "omitted"} == set(steps.values())


def expected(count: int, width: int) -> int:
    """Work out what the last step gives."""
    values = [1] * min(count, width)
    for number in range(width, count):
        start = (number // width - 1) * width
        place = number % width
        before = {start + place, start + (place + 1) % width}
        values.append((1 + sum(values[one] for one in before)) % 997)
    return values[-1]
