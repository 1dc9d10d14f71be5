"""The interpreter gives every workflow of the corpus its outcome."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.corpus import Case, cases
from tests.support.local_runs import run_here


@pytest.mark.parametrize("case", cases(), ids=str)
def test_outcome(case: Case, tmp_path: Path) -> None:
    result = run_here(case, tmp_path)
    expected = case.expected
    states = {path: step.status for path, step in result.steps.items()}
    messages = {path: step.message for path, step in result.steps.items() if step.message}
    assert states == expected.steps, messages
    assert result.status == expected.status, result.message
    assert result.outputs == expected.run_outputs
    for path, outputs in expected.outputs.items():
        given = result.steps[path].outputs
        assert {name: given.get(name) for name in outputs} == outputs, path
