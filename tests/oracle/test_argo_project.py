"""A project of three modules under Argo's controller: what its helpers do, and what runs again."""

from __future__ import annotations

from pathlib import Path

import pytest

from couler.backends.argo import ArgoBackend
from tests.support import argo_oracle
from tests.support.argo_outcome import Outcome
from tests.support.project import CHANGES, OUTPUTS, Project

pytestmark = [
    pytest.mark.slow,
    pytest.mark.timeout(1800),  # the first use builds Argo's programs
    pytest.mark.skipif(argo_oracle.available() is not None, reason=str(argo_oracle.available())),
]


@pytest.mark.parametrize("way", ["inline", "archive", "image"])
def test_only_the_steps_that_use_what_has_changed_run_again(way: str, tmp_path: Path) -> None:
    project = Project(tmp_path)
    whole = {"clean", "rate", "summary"}
    python = str(project.python(tmp_path / "image", project.folder)) if way == "image" else None
    with argo_oracle.session(tmp_path / "argo", python=python, shared=[tmp_path]) as argo:
        for file, text, new, expected, score in [("", "", "", whole, 1.52), *CHANGES]:
            if file:
                project.change(file, text, new)
            storage = argo.storage if way == "archive" else None
            workflow, manifest = project.compiled(ArgoBackend(), storage, code=way)
            assert ("podMetadata" in manifest) == (way == "inline")
            assert argo.lint(manifest) == ()
            run = argo.run(manifest)
            assert run.phase == "Succeeded", run.message
            outputs = Outcome(workflow, run).run_outputs
            assert outputs["score"] == score
            if not file:
                assert outputs == OUTPUTS
            assert {pod.template for pod in run.pods} == expected, file
