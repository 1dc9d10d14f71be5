"""The interpreter gives every workflow of the corpus its outcome."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from couler.backends.base import RunOptions
from couler.backends.local import LocalBackend
from tests.corpus import Case, cases


@pytest.mark.parametrize("case", cases(), ids=str)
def test_outcome(case: Case, tmp_path: Path) -> None:
    shared = tmp_path / "shared"
    shared.mkdir()
    entries = {
        f"COULER_{kind}_{name}_{key}": value
        for kind, maps in (("SECRET", case.secrets), ("CONFIG", case.config_maps))
        for name, entries in maps.items()
        for key, value in entries.items()
    }
    for key, content in case.artifacts.items():
        file = tmp_path / "home" / "repository" / key
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(content)
    result = LocalBackend().run(
        case.workflow,
        parameters=case.parameters_with(shared),
        options=RunOptions(home=tmp_path / "home", jobs=4, gpus=1),
        environ={**os.environ, **entries},
    )
    expected = case.expected
    states = {path: step.status for path, step in result.steps.items()}
    messages = {path: step.message for path, step in result.steps.items() if step.message}
    assert states == expected.steps, messages
    assert result.status == expected.status, result.message
    assert result.outputs == expected.run_outputs
    for path, outputs in expected.outputs.items():
        given = result.steps[path].outputs
        assert {name: given.get(name) for name in outputs} == outputs, path
