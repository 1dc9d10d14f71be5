"""The values of `create_secret` are there when the program runs on this machine."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import pytest

PROGRAM = """
import couler.argo as couler

login = couler.create_secret({"user": "ada", "password": "swordfish"}, name="login")
couler.run_container(
    image="busybox:1.37",
    command=["sh", "-c", "test ${#user}${#password} = 39 && exit ${CODE:-0}"],
    secret=login,
    step_name="show",
)
couler.run()
"""


@pytest.fixture
def program(tmp_path: Path) -> Path:
    file = tmp_path / "program.py"
    file.write_text(PROGRAM)
    return file


def call(words: Sequence[str], home: Path, **environ: str) -> int:
    """Run Python, and return its exit code."""
    environ = {**os.environ, "COULER_HOME": str(home), **environ}
    return subprocess.run([sys.executable, *words], env=environ, check=False).returncode


@pytest.mark.parametrize("words", [(), ("-m", "couler.cli", "run")], ids=["python", "couler run"])
@pytest.mark.slow
def test_the_program_runs_as_it_is(words: tuple[str, ...], program: Path, tmp_path: Path) -> None:
    home = tmp_path / "home"
    assert call([*words, str(program)], home) == 0
    assert (home / "couler.db").exists()
    for file in home.rglob("*"):
        assert not file.is_file() or b"swordfish" not in file.read_bytes(), file


def test_the_environment_stands_before_the_program(program: Path, tmp_path: Path) -> None:
    words = ["-m", "couler.cli", "run", str(program)]
    assert call(words, tmp_path / "home", COULER_SECRET_login_password="x") == 1
