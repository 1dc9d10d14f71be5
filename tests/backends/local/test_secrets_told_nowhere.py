"""What a failure tells holds no value of a secret, wherever it is told."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from couler.backends.base import RunOptions
from couler.backends.local import LocalBackend
from couler.backends.local.result import Event, RunResult
from couler.ir.artifacts import GitLocation
from couler.ir.policies import Retry
from couler.ir.storage import SecretKey
from couler.ir.workflow import Input, Workflow
from tests.corpus.build import flow, sh

PASSWORD = "hunter2222"
SECRETS = {"COULER_SECRET_code_user": "ada", "COULER_SECRET_code_password": PASSWORD}
CODE = GitLocation(
    repository="https://example.org/code",
    user=SecretKey(secret="code", key="user"),
    password=SecretKey(secret="code", key="password"),
)
TELLS = '#!/bin/sh\necho "refused: $("$GIT_ASKPASS" Password)" >&2\nexit 1\n'
"""A Git whose other side repeats the password."""

Run = Callable[..., RunResult]


@pytest.fixture
def run(tmp_path: Path) -> Run:
    """Run a workflow with that Git; the home is `home` of the test's folder."""
    git = tmp_path / "bin" / "git"
    git.parent.mkdir()
    git.write_text(TELLS)
    git.chmod(0o755)

    def run_workflow(workflow: Workflow, tell: Callable[[Event], None]) -> RunResult:
        path = f"{git.parent}:{os.environ['PATH']}"
        return LocalBackend().run(
            workflow,
            options=RunOptions(home=tmp_path / "home"),
            environ={"PATH": path, **SECRETS},
            on_event=tell,
        )

    return run_workflow


def test_a_failure_that_quotes_a_secret(run: Run, tmp_path: Path) -> None:
    given = Input(name="code", type="directory", at=CODE)
    step = sh("read", "true", inputs=[given], retry=Retry(limit=1, on=("error",)))
    told: list[Event] = []
    ended = run(flow("w", step), told.append)
    message = ended.steps["read"].message or ""
    assert message.endswith("refused: ***")
    assert [event.message for event in told if event.kind == "retrying"] == [message]
    assert PASSWORD not in repr((ended, told))
    for file in (tmp_path / "home").rglob("*"):
        assert not file.is_file() or PASSWORD.encode() not in file.read_bytes(), file
