"""What a failure tells holds no value of a secret, wherever it is told."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from couler.backends.base import RunOptions
from couler.backends.local import LocalBackend
from couler.ir.artifacts import GitLocation
from couler.ir.policies import Retry
from couler.ir.storage import SecretKey
from couler.ir.workflow import Input
from couler.state.results import Event
from tests.corpus.build import flow, sh

PASSWORD = "hunter2222"
SECRETS = {"COULER_SECRET_code_user": "ada", "COULER_SECRET_code_password": PASSWORD}
CODE = GitLocation(
    repository="https://example.org/code",
    user=SecretKey(secret="code", key="user"),
    password=SecretKey(secret="code", key="password"),
)
QUESTION = "Password for 'https://ada@example.org': "
TELLS = f'#!/bin/sh\necho "refused: $("$GIT_ASKPASS" "{QUESTION}")" >&2\nexit 1\n'
"""A Git whose other side repeats the password."""


@pytest.fixture
def environ(tmp_path: Path) -> dict[str, str]:
    """The environment of a run with that Git."""
    git = tmp_path / "bin" / "git"
    git.parent.mkdir()
    git.write_text(TELLS)
    git.chmod(0o755)
    return {"PATH": f"{git.parent}:{os.environ['PATH']}", **SECRETS}


def test_a_failure_that_quotes_a_secret(environ: dict[str, str], tmp_path: Path) -> None:
    given = Input(name="code", type="directory", at=CODE)
    step = sh("read", "true", inputs=[given], retry=Retry(limit=1, on=("error",)))
    told: list[Event] = []
    options = RunOptions(home=tmp_path / "home")
    ended = LocalBackend().run(
        flow("w", step), options=options, environ=environ, on_event=told.append
    )
    message = ended.steps["read"].message or ""
    assert message.endswith("refused: ***")
    assert [event.message for event in told if event.kind == "retrying"] == [message]
    plan = LocalBackend().plan_retry(ended.run_id, options=options, environ=environ)
    assert [step.reason for step in plan] == [f"its files cannot be fetched: {message}"]
    assert PASSWORD not in repr((ended, told))
    for file in (tmp_path / "home").rglob("*"):
        assert not file.is_file() or PASSWORD.encode() not in file.read_bytes(), file
