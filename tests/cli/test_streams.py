"""Standard streams that are closed, full or without a reader; bytes that are no text."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

COULER = f"{sys.executable} -m couler.cli"
FLOW = """
import couler

with couler.Workflow("streams", who="x") as wf:
    said = couler.run_container("busybox", ["echo"], args=[wf.params.who], step_name="say")
    wf.output("said", said)
    wf.on_exit(lambda: couler.run_container("sh", ["echo", "bye"], step_name="bye"), name="bye")
"""


@pytest.fixture
def shell(tmp_path: Path):
    (tmp_path / "flow.py").write_text(FLOW)
    given = {name: text for name, text in os.environ.items() if name != "PYTHONUNBUFFERED"}

    def run(command: str, **environment: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            ["bash", "-c", command.replace("couler", COULER, 1)],
            cwd=tmp_path,
            env={**given, "COULER_HOME": str(tmp_path / "home"), **environment},
            capture_output=True,
            text=True,
            check=False,
        )

    return run


@pytest.mark.slow
@pytest.mark.parametrize(
    "redirection",
    [">&-", "2>&-", "<&-", ">&- 2>&- <&-", "2>/dev/full", ">/dev/full", "2>&1 >&- | true"],
)
def test_a_run_goes_to_its_end(redirection: str, shell) -> None:
    if "full" in redirection and not Path("/dev/full").exists():
        pytest.skip("this system has no full device")
    done = shell(f"couler run flow.py {redirection}; exit ${{PIPESTATUS[0]}}")
    assert done.returncode == 0, done.stderr
    ended = shell("couler status latest --format json").stdout
    assert '"status": "succeeded"' in ended
    assert "exit:bye/bye" in ended


@pytest.mark.parametrize(
    ("command", "code"),
    [
        ("validate flow.py >&-", 0),
        ("list >&-", 0),
        ("compile flow.py -e argo >/dev/full", 3),
        ("compile flow.py -e argo >&-", 3),
    ],
)
def test_other_commands_end_by_the_table(command: str, code: int, shell) -> None:
    done = shell(f"couler {command}")
    assert done.returncode == code
    assert "defect" not in done.stderr
    assert ("standard output" in done.stderr) == (code != 0)


@pytest.mark.slow
def test_parameters_are_utf_8(shell) -> None:
    done = shell(r"couler run flow.py -p who=$'caf\xe9'")
    assert done.returncode == 2
    assert "the value of who is not UTF-8" in done.stderr
    plain = {"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"}
    done = shell("couler run -q flow.py -p who=Ünal", **plain)
    assert (done.returncode, done.stdout) == (0, "said = Ünal\n")
