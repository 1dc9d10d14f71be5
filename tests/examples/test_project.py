"""A project of three modules here: what its helpers do, and what runs again."""

from __future__ import annotations

from pathlib import Path

from couler.backends.base import RunOptions
from couler.backends.local import LocalBackend
from tests.support.project import CHANGES, OUTPUTS, Project


def test_only_the_steps_that_use_what_has_changed_run_again(tmp_path: Path) -> None:
    project = Project(tmp_path)
    whole = {"clean", "rate", "summary"}
    for file, text, new, expected, score in [("", "", "", whole, 1.52), *CHANGES]:
        if file:
            project.change(file, text, new)
        workflow, _ = project.compiled(LocalBackend())
        result = LocalBackend().run(workflow, options=RunOptions(home=tmp_path / "home"))
        assert result.status == "succeeded"
        assert result.outputs["score"] == score
        if not file:
            assert result.outputs == OUTPUTS
        again = {path for path, step in result.steps.items() if step.status != "cached"}
        assert again == expected, file
