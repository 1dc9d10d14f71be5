"""`couler init` and `couler completion`."""

from __future__ import annotations

import shutil
import subprocess
import sys
import tomllib
from collections.abc import Callable
from pathlib import Path

import pytest


def test_example_runs_and_compiles(couler: Callable, folder: Path) -> None:
    told = couler("init", "new/project")
    assert (told.code, told.out) == (0, "")
    assert "next: couler run new/project/workflow.py" in told.err
    settings = tomllib.loads((folder / "new/project/pyproject.toml").read_text())
    assert settings == {"tool": {"couler": {"engine": "argo"}}}
    file = "new/project/workflow.py"
    assert couler("validate", file, "-e", "argo", "-e", "local").code == 0
    assert "kind: Workflow" in couler("compile", file, "-e", "argo").out
    told = couler("run", file, "-p", "trials=40", "-q")
    assert told.code == 0
    name, score = told.out.splitlines()
    assert name.startswith("model = ")
    assert 0 < float(score.removeprefix("score = ")) <= 1


def test_what_exists_is_kept(couler: Callable, folder: Path) -> None:
    (folder / "workflow.py").write_text("mine\n")
    (folder / "pyproject.toml").write_text('[tool.couler]\nengine = "local"\n')
    told = couler("init")
    assert told.code == 0
    assert "kept   workflow.py: it exists" in told.err
    assert (folder / "workflow.py").read_text() == "mine\n"
    assert (folder / "pyproject.toml").read_text() == '[tool.couler]\nengine = "local"\n'


def test_project_that_cannot_be_read_is_left_alone(couler: Callable, folder: Path) -> None:
    (folder / "pyproject.toml").write_text("[tool")
    assert couler("init").code == 3
    assert (folder / "pyproject.toml").read_text() == "[tool"


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_completion_script(couler: Callable, shell: str) -> None:
    told = couler("completion", shell)
    assert (told.code, told.err) == (0, "")
    assert "_COULER_COMPLETE" in told.out
    assert f"{shell}_complete" in told.out


def test_bash_accepts_the_script(couler: Callable) -> None:
    bash = shutil.which("bash")
    if bash is None:
        pytest.skip("there is no bash")
    subprocess.run([bash, "-n"], input=couler("completion", "bash").out, text=True, check=True)


@pytest.mark.parametrize(
    ("words", "expected"),
    [("couler comp", "plain,compile"), ("couler compile f.py -e ar", "plain,argo")],
)
def test_completions(couler_process: Callable, words: str, expected: str) -> None:
    told = couler_process(
        _COULER_COMPLETE="bash_complete",
        COMP_WORDS=words,
        COMP_CWORD=str(len(words.split()) - 1),
    )
    assert expected in told.out.splitlines()


def test_completion_of_commands_is_light() -> None:
    probe = (
        "import sys; from couler.cli import app; import atexit;"
        "atexit.register(lambda: print('pydantic' in sys.modules, file=sys.stderr));"
        "app.main([], prog_name='couler')"
    )
    done = subprocess.run(
        [sys.executable, "-c", probe],
        capture_output=True,
        text=True,
        check=False,
        env={"_COULER_COMPLETE": "bash_complete", "COMP_WORDS": "couler v", "COMP_CWORD": "1"},
    )
    assert (done.stdout, done.stderr) == ("plain,validate\n", "False\n")
